//go:build !linux

package pgtest

import "syscall"

// attributes keep the terminal's interrupt from the server.
func attributes(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as, Setpgid: true}
}
