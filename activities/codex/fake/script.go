package fake

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"syscall"

	"coxswain/activities/codex/directive"
	"coxswain/models"
)

// script plays directives.
func (a *agent) script(ctx context.Context, steps []directive.Step) error {
	for _, response := range directive.Responses(steps) {
		for _, step := range response {
			if err := a.next(ctx); err != nil {
				return err
			}
			if err := a.step(ctx, step); err != nil {
				return err
			}
		}
		if err := a.responded(); err != nil {
			return err
		}
	}
	return nil
}

// step plays one directive. A command or tool that fails is no error.
func (a *agent) step(ctx context.Context, step directive.Step) error {
	switch step.Verb {
	case directive.Say:
		return a.item(itemAgent, step.Args, true)
	case directive.Run:
		return a.command(ctx, step.Args)
	case directive.Ask:
		return a.askLeave(ctx, step.Args)
	case directive.Write:
		path, text := step.File()
		return a.item(itemFile, path, a.write(path, text+"\n") == nil)
	case directive.Tool:
		return a.scriptedCall(ctx, step)
	case directive.Fail:
		return failureOf(step.HTTPStatus())
	case directive.Hang:
		return a.hang(ctx)
	}
	return fmt.Errorf("the directive @%s is not played by this agent", step.Verb)
}

// askLeave runs a command when its host accepts it. Texts that come meanwhile are taken
// afterwards.
func (a *agent) askLeave(ctx context.Context, line string) error {
	if err := a.report(Report{Type: ReportAsk, Text: line}); err != nil {
		return err
	}
	select {
	case verdict := <-a.verdicts:
		if verdict == string(models.VerdictAccept) {
			return a.command(ctx, line)
		}
		return a.report(Report{Type: ReportItem, Item: itemCommand, Text: line, Status: statusDeclined})
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *agent) scriptedCall(ctx context.Context, step directive.Step) error {
	name, args, err := step.Call()
	if err != nil {
		return a.item(itemAgent, err.Error(), true)
	}
	_, err = a.call(ctx, name, args)
	if isRefusal(err) {
		return nil // the item says it
	}
	return err
}

// failureOf maps an HTTP status of the model as Codex reports it.
func failureOf(status int) error {
	kind := "other"
	switch {
	case status == http.StatusTooManyRequests:
		kind = "rate_limit"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		kind = "auth"
	case status >= http.StatusInternalServerError:
		kind = "server"
	}
	return &failure{kind: kind, message: fmt.Sprintf("the scripted model answered %d %s", status, http.StatusText(status))}
}

// command runs a shell command line in a group of its own, which does not
// outlive it.
func (a *agent) command(ctx context.Context, line string) error {
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = a.req.CWD, a.commandEnv(), ownGroup(syscall.SIGKILL)
	if err := cmd.Start(); err != nil {
		return a.item(itemCommand, line, false)
	}
	group := cmd.Process.Pid
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := a.report(Report{Type: ReportProcess, Group: group}); err != nil {
		killGroup(group)
		<-ended //nolint:errcheck // reaped; that it was killed is known
		return err
	}
	err, stopped := waitCommand(ctx, ended, group)
	if stopped != nil {
		return stopped
	}
	if err := a.report(Report{Type: ReportProcess, Group: group, Ended: true}); err != nil {
		return err
	}
	return a.item(itemCommand, line, err == nil)
}

// waitCommand waits for a command and ends its group, at once when the context
// ends.
func waitCommand(ctx context.Context, ended <-chan error, group int) (err, stopped error) {
	select {
	case err = <-ended:
		killGroup(group)
		return err, nil
	case <-ctx.Done():
		killGroup(group)
		<-ended //nolint:errcheck // reaped; that it was killed is known
		return nil, ctx.Err()
	}
}

// commandEnv is the environment of commands: PATH, HOME, what the thread adds
// and the thread's id, as Codex gives it.
func (a *agent) commandEnv() []string {
	env := append(minimalEnv(a.req.Env), "CODEX_THREAD_ID="+a.req.ThreadID)
	if a.req.TempDir != "" {
		env = append(env, "TMPDIR="+a.req.TempDir)
	}
	return env
}

// minimalEnv is PATH, HOME and the given variables.
func minimalEnv(extra map[string]string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	for name, value := range extra {
		env = append(env, name+"="+value)
	}
	return env
}
