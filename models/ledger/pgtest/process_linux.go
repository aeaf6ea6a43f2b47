package pgtest

import "syscall"

// attributes let the server end when its parent does, and keep the terminal's
// interrupt from it.
func attributes(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as, Setpgid: true, Pdeathsig: syscall.SIGQUIT}
}
