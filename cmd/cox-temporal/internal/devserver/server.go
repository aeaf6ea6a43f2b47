package devserver

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/server/common/headers"
	"go.temporal.io/server/temporal"

	"coxswain/cmd/cox-temporal/internal/bounded"
	"coxswain/cmd/cox-temporal/internal/dbfile"
	"coxswain/cmd/cox-temporal/internal/options"
	"coxswain/models"
)

const (
	// Version is the version of the embedded server.
	Version = headers.ServerVersion

	// StopLimit bounds Stop. The services would take up to five minutes each;
	// what they have acknowledged is in the database by then, so nothing is lost
	// by ending earlier.
	StopLimit = 5 * time.Second

	// readyLimit bounds the wait for a healthy frontend after the services have
	// started. It takes a fraction of a second on an idle machine.
	readyLimit = 60 * time.Second
)

// Server is a running server.
type Server struct {
	address string // host:port of the gRPC frontend
	ui      *webUI // nil without a Web UI
	engine  temporal.Server
	file    *dbfile.File // nil in memory
	log     *serverLog
}

// Start starts a server and returns when it is ready to use, or leaves nothing
// behind. Besides the errors of dbfile.Acquire it returns ENGINE_UNAVAILABLE
// for a port that is taken (detail port) or a server that does not get ready,
// and INVALID_ARGUMENT for settings and search attributes that the server
// cannot have.
func Start(ctx context.Context, o options.Options) (_ *Server, err error) {
	s := &Server{log: newServerLog(o.LogLevel, o.LogFormat)}
	context.AfterFunc(ctx, s.log.quiet) // what an interrupted start leaves undone is no news
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	settings, err := dynamicConfig(o.DynamicConfig)
	if err != nil {
		return nil, err
	}
	if err := s.holdDatabase(o); err != nil {
		return nil, err
	}
	ports, err := s.choosePorts(o)
	if err != nil {
		return nil, err
	}
	if err := s.startEngine(o, ports, settings); err != nil {
		return nil, err
	}
	if err := s.awaitReady(ctx, o); err != nil {
		return nil, err
	}
	if s.ui != nil {
		return s, s.ui.serve(s.address, o.Namespaces[0])
	}
	return s, nil
}

// Address returns the frontend's host:port.
func (s *Server) Address() string { return s.address }

// UI returns the Web UI's URL, or "" when there is none.
func (s *Server) UI() string {
	if s.ui == nil {
		return ""
	}
	return s.ui.url()
}

// Database returns the path of the database file, or "" when it is in memory.
func (s *Server) Database() string {
	if s.file == nil {
		return ""
	}
	return s.file.Path()
}

// Failed delivers the error of a Web UI that ended by itself. It never delivers
// anything when there is no Web UI.
func (s *Server) Failed() <-chan error {
	if s.ui == nil {
		return nil
	}
	return s.ui.failed
}

// Stop stops everything within StopLimit and gives the database up. A server
// that is still stopping then is an error; the caller is expected to end the
// process, which is safe at any time.
func (s *Server) Stop() error {
	s.log.quiet()
	var errs []error
	if s.ui != nil {
		errs = append(errs, s.ui.close())
	}
	if s.engine != nil {
		if err := bounded.Call("stopping the services", StopLimit, s.engine.Stop); err != nil {
			return errors.Join(append(errs, err)...) // the lock stays: the file is still in use
		}
	}
	if s.file != nil {
		errs = append(errs, s.file.Release())
	}
	return errors.Join(errs...)
}

// holdDatabase takes the lock of a database on disk.
func (s *Server) holdDatabase(o options.Options) (err error) {
	if o.Database == "" {
		return nil
	}
	s.file, err = dbfile.Acquire(o.Database, dbfile.Identity{ServerVersion: Version, HistoryShards: historyShards})
	return err
}

// choosePorts finds the ports of all services and binds the Web UI's.
func (s *Server) choosePorts(o options.Options) (servicePorts, error) {
	ports, err := reservePorts(o.IP, o.Port)
	if err != nil {
		return servicePorts{}, err
	}
	s.address = ports.frontendAddress(o.IP)
	if !o.Headless {
		if s.ui, err = bindUI(o.UIIP, o.UIPort); err != nil {
			return servicePorts{}, errors.Join(err, ports.free())
		}
	}
	if s.file != nil {
		if err := s.file.Publish(s.address); err != nil {
			return servicePorts{}, errors.Join(err, ports.free())
		}
	}
	return ports, ports.free()
}

// startEngine makes the database if needed and starts the services on it.
func (s *Server) startEngine(o options.Options, ports servicePorts, settings settings) error {
	store, err := prepareStore(s.file, o)
	if err != nil {
		return err
	}
	engine, err := temporal.NewServer(engineOptions(engineParts{
		ip: o.IP, ports: ports, store: store, clusterID: clusterID(s.file), settings: settings, log: s.log,
	})...)
	if err != nil {
		return unavailable("the server cannot be set up", err)
	}
	s.engine = engine
	if err := engine.Start(); err != nil {
		return unavailable("the server does not start", err)
	}
	return nil
}

// unavailable wraps an error of the server itself.
func unavailable(message string, cause error) error {
	return models.Errorf(models.CodeEngineUnavailable, "%s", message).Because(cause).
		Hint("start it again with --log-level info to see why")
}
