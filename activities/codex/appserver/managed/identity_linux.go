package managed

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

func bootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text)), err
}

// startOf returns when a process began, in clock ticks since the boot, and whether
// it runs. One that has ended and was not reaped does not.
func startOf(pid int) (started string, alive bool, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	// The name, in parentheses, may hold anything; the third field follows it.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const state, start = 0, 19
	if len(fields) <= start {
		return "", false, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	if fields[state] == "Z" || fields[state] == "X" {
		return "", false, nil
	}
	return fields[start], true, nil
}
