package appserver

import (
	"fmt"
	"net"
	"syscall"
)

// peer tells which process of which user listens behind a connected Unix socket.
func peer(c net.Conn) (uid, pid int, known bool, err error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return 0, 0, false, fmt.Errorf("%T is no Unix socket", c)
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, 0, false, err
	}
	var cred *syscall.Ucred
	var asked error
	if err := raw.Control(func(fd uintptr) {
		cred, asked = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return 0, 0, false, err
	}
	if asked != nil {
		return 0, 0, false, asked
	}
	return int(cred.Uid), int(cred.Pid), true, nil
}
