package appserver

import "syscall"

// childAttributes put the child into a group of its own and end it with its
// parent, also when that is killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
