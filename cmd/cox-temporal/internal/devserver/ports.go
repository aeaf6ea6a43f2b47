package devserver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"

	"coxswain/models"
)

// internalIP is where the services that only the frontend talks to listen.
const internalIP = "127.0.0.1"

// servicePorts are the ports of the four services, held until free is called so
// that no two of them are the same and none goes to somebody else meanwhile.
type servicePorts struct {
	frontend, history, matching, worker int
	held                                []net.Listener
}

// reservePorts holds the wanted frontend port (0: a free one) and free ports
// for the other services.
func reservePorts(ip string, frontend int) (servicePorts, error) {
	var p servicePorts
	for _, want := range []struct {
		into *int
		flag string
		ip   string
		port int
	}{
		{&p.frontend, "port", ip, frontend},
		{&p.history, "port", internalIP, 0},
		{&p.matching, "port", internalIP, 0},
		{&p.worker, "port", internalIP, 0},
	} {
		l, err := listen(want.flag, want.ip, want.port)
		if err != nil {
			return servicePorts{}, errors.Join(err, p.free())
		}
		p.held = append(p.held, l)
		*want.into = portOf(l)
	}
	return p, nil
}

// frontendAddress returns the frontend's host:port.
func (p servicePorts) frontendAddress(ip string) string {
	return net.JoinHostPort(ip, strconv.Itoa(p.frontend))
}

// free lets go of the ports, for the services to bind.
func (p servicePorts) free() error {
	var errs []error
	for _, l := range p.held {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// The ports that 0 picks from. They lie below the ones that the system hands out
// by itself, which another process may get in the moment between letting go of a
// port and the server's binding it.
const (
	lowestFree  = 20000
	highestFree = 32767
	freeTries   = 64
)

// listen binds a port that a flag asked for; 0 is any free one.
func listen(flag, ip string, port int) (net.Listener, error) {
	for range freeTries {
		if port != 0 {
			break
		}
		pick := lowestFree + rand.IntN(highestFree-lowestFree+1) //nolint:gosec // only has to differ from other processes' picks
		if l, err := net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(pick))); err == nil {
			return l, nil
		}
	}
	address := net.JoinHostPort(ip, strconv.Itoa(port))
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, models.Errorf(models.CodeEngineUnavailable, "--%s: %s cannot be had, probably another program listens there", flag, address).
			With("flag", flag).With("port", port).With("address", address).Because(err).
			Hint("stop that program, name another --%s, or use --%s 0 for a free one", flag, flag)
	}
	return l, nil
}

// portOf returns the port of a TCP listener.
func portOf(l net.Listener) int {
	tcp, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		panic(fmt.Sprintf("a TCP listener has the address %v", l.Addr())) // net.Listen("tcp") returns no other
	}
	return tcp.Port
}
