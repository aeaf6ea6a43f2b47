package hook

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// codes of a guard that a shell would give, too.
const (
	exitNotRun = 126
	exitSignal = 128
)

// Guard runs one command in a process group of its own until it ends or line does,
// whichever is first, and then kills what is left of the group. It returns the exit
// code for the guard's process. out should be a file: the command writes to it by itself.
func Guard(line io.Reader, out io.Writer, command string) int {
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		_, _ = fmt.Fprintln(out, err) // the code says it, too
		return exitNotRun
	}
	go func() {
		_, _ = io.Copy(io.Discard, line) // its end is the message
		killGroup(cmd.Process.Pid)
	}()
	err := cmd.Wait()
	killGroup(cmd.Process.Pid)
	status, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return 0
	case !exited:
		return exitNotRun
	}
	if ws, ok := status.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return exitSignal + int(ws.Signal())
	}
	return status.ExitCode()
}

// killGroup kills every process of a group; one that is gone needs nothing.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
