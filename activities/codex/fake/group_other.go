//go:build !linux

package fake

import "syscall"

// ownGroup puts a process into a group of its own. Without a parent-death signal
// the end of its input tells an agent that its host is gone.
func ownGroup(syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// sameGroup leaves a process in its parent's group; the end of its input ends it
// when its parent is killed.
func sameGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
