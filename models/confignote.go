package models

import "time"

// ConfigNote is what a running worker says of the configuration file: the problem for
// which it keeps its last good settings, and what takes effect only at its next start.
type ConfigNote struct {
	Path    string    `json:"path,omitempty"`
	Problem string    `json:"problem,omitempty"` // "" while the file is in force
	Restart []string  `json:"restart,omitempty"` // keys that changed and wait for a restart
	Since   time.Time `json:"since"`
}
