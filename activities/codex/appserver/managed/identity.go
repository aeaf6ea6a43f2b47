package managed

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// running tells whether the recorded process still runs: another one that has its
// id began at another time, or since another boot.
func (r record) running() (bool, error) {
	if r.PID <= 1 {
		return false, nil
	}
	boot, err := bootID()
	if err != nil || boot != r.Boot {
		return false, err
	}
	started, alive, err := startOf(r.PID)
	return alive && started == r.Started, err
}

// misfit tells why a running server is not to be used for the wanted home, "" when
// it fits. One of another version fits until it is idle (Outdated).
func (r record) misfit(codexHome string) string {
	if r.CodexHome != codexHome {
		return fmt.Sprintf("its home is %s, and %s is wanted", r.CodexHome, codexHome)
	}
	if err := checkSocket(r.Socket); err != nil {
		return err.Error()
	}
	return ""
}

// checkSocket refuses a path that is no socket of this user alone.
func checkSocket(path string) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Lstat(target)
	if err != nil {
		return err
	}
	if info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("%s is no socket", target)
	}
	if err := private(target, info); err != nil {
		return err
	}
	return checkFolder(filepath.Dir(target))
}

func checkFolder(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return private(path, info)
}

// private refuses what another user owns or may use.
func private(path string, info os.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user", path)
	}
	if open := info.Mode().Perm() & 0o077; open != 0 {
		return fmt.Errorf("%s may be used by others (mode %04o)", path, info.Mode().Perm())
	}
	return nil
}
