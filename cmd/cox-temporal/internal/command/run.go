package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"coxswain/cmd/cox-temporal/internal/devserver"
	"coxswain/cmd/cox-temporal/internal/options"
	"coxswain/models"
)

// Ready is the document printed when the server can be used.
type Ready struct {
	OK            bool     `json:"ok"`
	Address       string   `json:"address"` // host:port of the gRPC frontend
	UI            string   `json:"ui"`      // URL of the Web UI; empty when there is none
	Namespace     string   `json:"namespace"`
	Namespaces    []string `json:"namespaces"`
	Database      string   `json:"db"` // path; empty when in memory
	PID           int      `json:"pid"`
	ServerVersion string   `json:"server_version"`
}

// run starts a server, says so, and waits until it is told to stop.
func (p *program) run(c *cli.Context) error {
	if c.Args().Present() {
		return models.Invalid("arguments", "%q is neither a flag nor a command", c.Args().First()).Hint("cox-temporal --help lists both")
	}
	o, err := options.FromContext(c)
	if err != nil {
		return err
	}
	s, err := devserver.Start(c.Context, o)
	if c.Err() != nil && err != nil {
		fmt.Fprintln(p.Err, "cox-temporal: stopped before it was ready")
		return nil //nolint:nilerr // asked to stop, and stopped
	}
	if err != nil {
		return err
	}
	if err := p.printReady(s, o); err != nil {
		return errors.Join(err, s.Stop())
	}
	failure := p.wait(c.Context, s, o.ExitWithStdin)
	p.forgetSignals()
	if err := s.Stop(); err != nil {
		// Ending the process now is safe and what was asked for, so it is a remark.
		fmt.Fprintf(p.Err, "cox-temporal: ended without a clean stop (%v); every acknowledged change is in the database\n", err)
	}
	return failure
}

// wait returns nil when the server is asked to stop, or why it ended by itself.
func (p *program) wait(ctx context.Context, s *devserver.Server, withStdin bool) error {
	var stdinEnded chan struct{} // never ready when nil
	if withStdin {
		stdinEnded = make(chan struct{})
		go func() {
			_, _ = io.Copy(io.Discard, p.In) // an unreadable stdin has ended as well
			close(stdinEnded)
		}()
	}
	select {
	case <-ctx.Done():
		return nil
	case <-stdinEnded:
		return nil
	case err := <-s.Failed():
		return err
	}
}

// printReady prints the one line of a successful start.
func (p *program) printReady(s *devserver.Server, o options.Options) error {
	r := Ready{
		OK: true, Address: s.Address(), UI: s.UI(), Namespace: o.Namespaces[0], Namespaces: o.Namespaces,
		Database: s.Database(), PID: os.Getpid(), ServerVersion: devserver.Version,
	}
	if o.JSON {
		return json.NewEncoder(p.Out).Encode(r)
	}
	ui, db := r.UI, r.Database
	if ui == "" {
		ui = "off"
	}
	if db == "" {
		db = "in memory"
	}
	_, err := fmt.Fprintf(p.Out, "Temporal %s is ready at %s, Web UI %s, namespace %s, database %s, pid %d\n",
		r.ServerVersion, r.Address, ui, r.Namespace, db, r.PID)
	return err
}
