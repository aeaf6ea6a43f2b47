package cli

import (
	"io"
	"sync"

	"gopkg.in/natefinch/lumberjack.v2"
)

// logOptions say how much of the logs in the state directory is kept.
func logOptions() []*option {
	return []*option{
		{name: "log-max-size", kind: countKind, key: "log.max_size", fallback: "20", env: []string{"COX_LOG_MAX_SIZE"}, usage: "`MB` after which a log in the state directory is begun anew"},
		{name: "log-max-files", kind: countKind, key: "log.max_files", fallback: "5", env: []string{"COX_LOG_MAX_FILES"}, usage: "keep `N` older files of each log"},
		{name: "log-max-days", kind: countKind, key: "log.max_days", fallback: "30", env: []string{"COX_LOG_MAX_DAYS"}, usage: "keep older files for `N` days"},
	}
}

// rotatedLog is a log whose limits may change while it is written.
type rotatedLog struct {
	mu  sync.Mutex
	log *lumberjack.Logger
}

// rotated opens a log with the limits of the invocation, and keeps it for changes of
// them.
func (in *call) rotated(path string) io.WriteCloser {
	r := &rotatedLog{log: in.logFile(path)}
	in.logs = append(in.logs, r)
	return r
}

// logFile is a log by the limits in force.
func (in *call) logFile(path string) *lumberjack.Logger {
	return &lumberjack.Logger{
		Filename: path, MaxSize: in.whole("log-max-size"), MaxBackups: in.whole("log-max-files"), MaxAge: in.whole("log-max-days"),
	}
}

func (r *rotatedLog) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(p)
}

// Close implements io.Closer.
func (r *rotatedLog) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Close()
}

// limit goes on with other limits; the file stays the same.
func (r *rotatedLog) limit(next *lumberjack.Logger) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next.Filename = r.log.Filename
	err := r.log.Close()
	r.log = next
	return err
}
