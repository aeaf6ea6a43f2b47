package cli

import (
	"context"
	"log/slog"
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

// settled is how long a file has to say the same before it counts: an editor that writes
// in place leaves it half-written for a moment.
const settled = 300 * time.Millisecond

// reloading follows the configuration file of a command that goes on. What is wrong is
// told once, and the last good settings stay.
type reloading struct {
	*call
	path    string
	problem string   // of the file as it was seen last; "" for none
	waiting []string // keys that changed and take effect at the next start

	coming fileState // what the file says now, but not yet for long enough
	since  time.Time // when it was first seen to say that; zero while nothing is coming
}

// followConfig begins with the file as the command has read it.
func (in *call) followConfig() (*reloading, error) {
	path, err := in.configPath()
	if err != nil {
		return nil, err
	}
	_, err = in.config()
	return &reloading{call: in, path: path}, err
}

// look reads the file again. changed tells that it says something else, and has for a
// moment, or that its problem came or went; the call's values are then the ones in
// force, but for the keys that are not live.
func (r *reloading) look(now time.Time, isLive func(key string) bool) (changed bool) {
	text := readConfig(r.path)
	if !r.settle(text.state(), now) {
		return false
	}
	file, err := text.parse()
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

// settle tells whether the file says something new, and has said it for long enough.
func (r *reloading) settle(state fileState, now time.Time) bool {
	switch {
	case state == r.seen:
		r.since = time.Time{}
		return false
	case r.since.IsZero() || state != r.coming:
		r.coming, r.since = state, now
		return false
	case now.Sub(r.since) < settled:
		return false
	}
	r.seen, r.since = state, time.Time{}
	return true
}

// again is when the file is worth the next look, if no change of it is told.
func (r *reloading) again() time.Duration {
	if r.since.IsZero() {
		return reloadEvery
	}
	return settled
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
		t := time.NewTimer(reloadEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
			case <-fileEvents(told):
			case <-ctx.Done():
				return
			}
			changed := r.look(time.Now(), workerLive)
			t.Reset(r.again())
			if !changed {
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
	if r.config == nil || time.Since(r.lookedAt) < r.config.again() {
		return nil
	}
	r.lookedAt = time.Now()
	before := r.text("model")
	if !r.config.look(r.lookedAt, upLive) || r.config.problem != "" {
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
