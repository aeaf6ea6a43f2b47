package fake

import "syscall"

// ownGroup puts a process into a group of its own and sends it the signal when
// the thread that started it ends, also when its parent is killed.
func ownGroup(death syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death}
}

// sameGroup leaves a process in its parent's group and kills it with its parent.
func sameGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
