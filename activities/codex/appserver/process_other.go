//go:build !linux

package appserver

import "syscall"

// childAttributes put the child into a group of its own. Without a parent-death
// signal the end of its stdin ends it when the parent is killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
