package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"coxswain/models"
	"coxswain/worker"
)

// reloadEvery is the time between two looks at the configuration file where no change
// of it was told: a watch may lose one.
const reloadEvery = 2 * time.Second

// reloading follows the configuration file of a command that goes on. What is wrong is
// told once, and the last good settings stay.
type reloading struct {
	*call
	path    string
	seen    [sha256.Size]byte
	problem string   // of the file as it was seen last; "" for none
	waiting []string // keys that changed and take effect at the next start
}

// followConfig begins with the file as the command has read it.
func (in *call) followConfig() (*reloading, error) {
	path, err := in.configPath()
	if err != nil {
		return nil, err
	}
	r := &reloading{call: in, path: path}
	raw, err := r.read()
	r.seen = sha256.Sum256(raw)
	return r, err
}

// read is the file's text; one that is not there is empty.
func (r *reloading) read() ([]byte, error) {
	if r.path == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return raw, err
}

// look reads the file again. changed tells that it says something else, or that its
// problem came or went; the call's values are then the ones in force, but for the keys
// that are not live.
func (r *reloading) look(isLive func(key string) bool) (changed bool) {
	raw, err := r.read()
	sum := sha256.Sum256(raw)
	if err == nil && sum == r.seen {
		return false
	}
	r.seen = sum
	var file map[string]string
	if err == nil {
		file, err = parseConfig(r.path, raw)
	}
	if err != nil {
		if r.problem == err.Error() {
			return false
		}
		r.problem = err.Error()
		r.log().Error("the configuration file is wrong; the last good settings stay", "error", err)
		return true
	}
	r.problem = ""
	r.apply(file, isLive)
	return true
}

// apply puts the file's settings into force where neither flag nor environment goes
// before them.
func (r *reloading) apply(file map[string]string, isLive func(string) bool) {
	r.file = file
	r.waiting = nil
	var now []string
	for _, o := range fileOptions() {
		old, declared := r.values[o.name]
		if !declared || old.source != "file" && old.source != "default" {
			continue
		}
		next := value{raw: r.fallbacks[o.name], source: "default"}
		if text, set := file[o.key]; set {
			next.raw, next.source = text, "file"
		}
		if next.raw == old.raw {
			continue
		}
		if !isLive(o.key) {
			r.waiting = append(r.waiting, o.key)
			continue
		}
		parsed, err := o.parse(next.raw)
		if err != nil {
			continue // the file was checked by the same rules
		}
		next.parsed = parsed
		r.values[o.name] = next
		now = append(now, o.key)
	}
	r.log().Info("the configuration file was read again", "changed", now, "at_the_next_start", r.waiting)
}

// workerLive are the keys that a running worker takes over.
func workerLive(key string) bool {
	return slices.Contains([]string{"max_runs", "log_level", "notify.command", "notify.timeout"}, key)
}

// watchConfig brings a worker the settings of its configuration file as they change.
func (in *call) watchConfig(ctx context.Context) (<-chan worker.Settings, error) {
	r, err := in.followConfig()
	if err != nil {
		return nil, err
	}
	in.log() // made before the goroutine uses it
	changes := make(chan worker.Settings)
	told := r.watch()
	go func() {
		if told != nil {
			defer told.Close() //nolint:errcheck // the process ends, or nothing is watched any more
		}
		t := time.NewTicker(reloadEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
			case <-fileEvents(told):
			case <-ctx.Done():
				return
			}
			if !r.look(workerLive) {
				continue
			}
			r.relevel()
			select {
			case changes <- r.settings():
			case <-ctx.Done():
				return
			}
		}
	}()
	return changes, nil
}

// watch watches the file's folder, since editors replace files; nil without one, when
// only the looks are left.
func (r *reloading) watch() *fsnotify.Watcher {
	w, err := fsnotify.NewWatcher()
	if err == nil {
		err = w.Add(filepath.Dir(r.path))
	}
	if err != nil {
		r.log().Debug("the configuration's folder is not watched, only looked at", "error", err)
		return nil
	}
	return w
}

// fileEvents is nil, on which nothing comes, without a watcher.
func fileEvents(w *fsnotify.Watcher) <-chan fsnotify.Event {
	if w == nil {
		return nil
	}
	return w.Events
}

// settings are the worker's settings in force.
func (r *reloading) settings() worker.Settings {
	return worker.Settings{
		MaxRuns: r.whole("max-runs"), NotifyCommand: r.text("notify-command"), NotifyTimeout: r.span("notify-timeout"),
		Config: models.ConfigNote{Path: r.path, Problem: r.problem, Restart: r.waiting},
	}
}

// relevel logs from the level in force on.
func (r *reloading) relevel() {
	var level slog.Level
	if level.UnmarshalText([]byte(r.text("log-level"))) == nil {
		r.level.Set(level)
	}
}

// upLive are the keys that a running cox up or cox loop takes over.
func upLive(key string) bool {
	return slices.Contains([]string{"model", "log.max_size", "log.max_files", "log.max_days", "log_level"}, key)
}

// reload looks at the configuration file for the loops that this command turned on.
func (r *loops) reload(ctx context.Context) error {
	if r.config == nil || time.Since(r.lookedAt) < reloadEvery {
		return nil
	}
	r.lookedAt = time.Now()
	before := r.text("model")
	if !r.config.look(upLive) || r.config.problem != "" {
		return nil
	}
	r.config.relevel()
	for _, log := range r.logs {
		if err := log.limit(r.logFile("")); err != nil {
			r.log().Warn("a log was not closed", "error", err)
		}
	}
	if r.text("model") == before {
		return nil
	}
	return r.each(ctx, func(now, _ models.LoopSettings) (models.LoopSettings, bool) {
		now.Model = r.text("model")
		return now, true
	})
}
