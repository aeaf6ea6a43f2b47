package supervise

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// starter is the one OS thread that starts children: the death signal is sent
// when the thread that started a child ends, so it has to live as long as the
// process.
var (
	starter = make(chan func())
	begin   sync.Once
)

func startOnThread(cmd *exec.Cmd) error {
	begin.Do(func() {
		go func() {
			runtime.LockOSThread()
			for f := range starter {
				f()
			}
		}()
	})
	started := make(chan error)
	starter <- func() { started <- cmd.Start() }
	return <-started
}
