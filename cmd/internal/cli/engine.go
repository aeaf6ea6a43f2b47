package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"coxswain/models"
	"coxswain/workflows"
)

// engineRecord is what `cox up` writes about the Temporal that it started, so
// that other commands of the same state directory find it.
type engineRecord struct {
	Address   string `json:"address"`
	UI        string `json:"ui"`
	Namespace string `json:"namespace"`
	PID       int    `json:"pid"`
}

func engineFile(stateDir string) string { return filepath.Join(stateDir, "engine.json") }

// readEngine returns the record of an engine whose process lives; found is false
// for any other.
func readEngine(stateDir string) (r engineRecord, found bool, err error) {
	raw, err := os.ReadFile(engineFile(stateDir))
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	if err != nil {
		return r, false, models.Errorf(models.CodeEngineUnavailable, "the record of the engine in %s cannot be read", stateDir).
			Hint("remove %s, or pass --address", engineFile(stateDir)).Because(err)
	}
	return r, r.PID > 0 && syscall.Kill(r.PID, 0) == nil, nil
}

func writeEngine(stateDir string, r engineRecord) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(engineFile(stateDir), append(raw, '\n'), 0o600)
}

// engine says where Temporal is: the flag or its variable or the configuration
// file, then the SDK's own environment, then what `cox up` started or uses here, then
// Temporal's default address.
func (in *call) engine(stateDir string) (workflows.Engine, error) {
	e := workflows.Engine{Address: in.text("address"), Namespace: in.text("namespace"), Env: in.env}
	if e.Address != "" || in.environmentNamesEngine() {
		return e, nil
	}
	r, found, err := readEngine(stateDir)
	if err != nil {
		return e, err
	}
	if !found {
		up, _ := readUp(stateDir)
		r.Address, r.Namespace = up.Address, up.Namespace
	}
	e.Address = r.Address
	if e.Namespace == "" {
		e.Namespace = r.Namespace
	}
	return e, nil
}

// environmentNamesEngine tells whether the SDK's environment configuration says
// where Temporal is.
func (in *call) environmentNamesEngine() bool {
	for _, name := range []string{"TEMPORAL_ADDRESS", "TEMPORAL_CONFIG_FILE", "TEMPORAL_PROFILE"} {
		if v, set := in.env(name); set && v != "" {
			return true
		}
	}
	return false
}

// executable is the absolute path of this program, which is started again as
// worker, agent and tool server.
func executable() (string, error) {
	path, err := os.Executable()
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", models.Errorf(models.CodeInternal, "the path of this program cannot be found").Because(err)
	}
	return path, nil
}
