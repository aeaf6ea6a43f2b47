package policyfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"coxswain/models"
)

// Roots lists the folders of the registered workspaces.
type Roots func(context.Context) ([]string, error)

// Source is a policy file and what it said last.
type Source struct {
	path  string
	roots Roots
	log   *slog.Logger

	mu      sync.Mutex
	seen    stamp
	policy  models.Policy
	refusal string // why the file's present content is not in force, "" when it is
}

// stamp tells whether a file has changed.
type stamp struct {
	exists bool
	size   int64
	time   time.Time
}

// Open reads a policy file; "" has none. The error says why the file is refused, as
// INVALID_ARGUMENT.
func Open(ctx context.Context, path string, roots Roots, log *slog.Logger) (*Source, error) {
	s := &Source{path: path, roots: roots, log: log}
	if path == "" {
		return s, nil
	}
	var err error
	if s.path, err = filepath.Abs(path); err != nil {
		return nil, models.Invalid("policy", "%s cannot be made absolute", path).Because(err)
	}
	if err := s.outside(ctx); err != nil {
		return nil, err
	}
	s.seen = look(s.path)
	if s.policy, err = Load(s.path); err != nil {
		return nil, err
	}
	return s, nil
}

// Path is where the file is, or would be.
func (s *Source) Path() string { return s.path }

// Current is the policy that is in force now. A file that has come to lie inside a
// workspace asks nobody and accepts nothing; any other refusal keeps the last good
// policy.
func (s *Source) Current(ctx context.Context) models.Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.path == "" {
		return models.Policy{}
	}
	if err := s.outside(ctx); err != nil {
		s.say(err)
		return models.Policy{}
	}
	now := look(s.path)
	if now == s.seen && s.refusal == "" {
		return s.policy
	}
	p, err := Load(s.path)
	s.say(err)
	if err == nil && now != s.seen {
		s.policy, s.seen = p, now
		s.log.Info("the policy file was read again", "path", s.path, "asks", p.Asks(), "accepts", len(p.Accept))
	}
	return s.policy
}

// say logs a refusal once, and that it is over.
func (s *Source) say(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == s.refusal {
		return
	}
	s.refusal = text
	if text != "" {
		s.log.Error("the policy file is refused; what held before goes on, and nothing is accepted by a file in a workspace", "path", s.path, "error", text)
	} else {
		s.log.Info("the policy file is in force again", "path", s.path)
	}
}

// outside refuses a file inside a registered workspace, whose agents could write it.
func (s *Source) outside(ctx context.Context) error {
	if s.roots == nil {
		return nil
	}
	roots, err := s.roots(ctx)
	if err != nil {
		return models.Invalid("policy", "it cannot be told whether %s lies in a workspace", s.path).Because(err)
	}
	return Outside(s.path, roots)
}

// Outside refuses a path inside one of the folders, links followed. INVALID_ARGUMENT.
func Outside(path string, roots []string) error {
	file := resolved(path)
	for _, root := range roots {
		if root == "" {
			continue
		}
		rel, err := filepath.Rel(resolved(root), file)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			return models.Invalid("policy", "%s lies inside the workspace %s, whose agents could change it", path, root).
				Hint("keep it beside the configuration file: cox config path")
		}
	}
	return nil
}

// resolved follows links as far as the path exists.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(resolved(dir), filepath.Base(path))
	}
	return path
}

// Load reads a policy file; one that is not there is the zero policy. A file that
// others than its owner may write is refused.
func Load(path string) (models.Policy, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return models.Policy{}, nil
	}
	if err != nil {
		return models.Policy{}, models.Invalid("policy", "%s cannot be read", path).Because(err)
	}
	defer f.Close() //nolint:errcheck // opened for reading
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return models.Policy{}, models.Invalid("policy", "%s is no regular file", path)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return models.Policy{}, models.Invalid("policy", "%s may be written by others than its owner", path).Hint("chmod go-w %s", path)
	}
	raw, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return models.Policy{}, models.Invalid("policy", "%s cannot be read", path).Because(err)
	}
	if len(raw) > MaxSize {
		return models.Policy{}, models.Invalid("policy", "%s is longer than %d bytes", path, MaxSize)
	}
	return Parse(path, raw)
}

func look(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{exists: true, size: info.Size(), time: info.ModTime()}
}
