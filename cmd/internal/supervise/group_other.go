//go:build !linux

package supervise

import (
	"os/exec"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func startOnThread(cmd *exec.Cmd) error { return cmd.Start() }
