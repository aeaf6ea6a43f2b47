//go:build !linux

package managed

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// bootID is the time of the boot, which is set once.
func bootID() (string, error) {
	out, err := exec.Command("sysctl", "-n", "kern.boottime").Output()
	return strings.TrimSpace(string(out)), err
}

// startOf returns when a process began, to the second, and whether it runs. One
// that has ended and was not reaped does not.
func startOf(pid int) (started string, alive bool, err error) {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return "", false, nil
	}
	cmd := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid))
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC", "PATH=/usr/bin:/bin"}
	out, err := cmd.Output()
	if err != nil {
		return "", false, err
	}
	state, started, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if strings.HasPrefix(state, "Z") {
		return "", false, nil
	}
	return strings.TrimSpace(started), started != "", nil
}
