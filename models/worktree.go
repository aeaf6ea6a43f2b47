package models

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// WorktreeState is how far a worktree has come.
type WorktreeState string

// The states of a worktree in the order of its life.
const (
	WorktreePlanned  WorktreeState = "planned"  // wanted; nothing of it may exist yet
	WorktreeMaking   WorktreeState = "making"   // its place was found free; whatever is there is ours
	WorktreeMade     WorktreeState = "made"     // checked out; its after_create hook has not succeeded yet
	WorktreeReady    WorktreeState = "ready"    // agents may work in it
	WorktreeRemoving WorktreeState = "removing" // a person or the policy wants it gone
	WorktreeRemoved  WorktreeState = "removed"  // seen to be gone
)

// Exists tells whether files of the worktree are expected on its node.
func (s WorktreeState) Exists() bool {
	return s == WorktreeMade || s == WorktreeReady || s == WorktreeRemoving
}

// Worktree is the Git worktree in which all runs of an assignment work. Its
// generation rises when it has to be made anew; late records of an older one change
// nothing.
type Worktree struct {
	AssignmentID string        `json:"assignment_id" gorm:"primaryKey"`
	WorkspaceID  string        `json:"workspace_id"`
	TeamID       string        `json:"team_id"`
	NodeID       string        `json:"node_id"`
	Root         string        `json:"root"` // the folder above, "" while it is planned
	Path         string        `json:"path"`
	Branch       string        `json:"branch"`
	BaseCommit   string        `json:"base_commit"` // where the branch begins
	Generation   int           `json:"generation"`
	State        WorktreeState `json:"state"`
	PreparedRun  string        `json:"prepared_run_id,omitempty"` // the last run that it was made ready for

	// What a removal would lose, as it was last looked at after the assignment's end.
	Dirty      int      `json:"dirty"`                        // files, all of them
	Files      []string `json:"files" gorm:"serializer:json"` // the first of them
	DirtHash   string   `json:"dirt_hash,omitempty"`          // "" when nothing would be lost
	Reason     string   `json:"reason,omitempty"`             // why it is kept, or could not be removed
	Discard    string   `json:"discard,omitempty"`            // the DirtHash that a person gave up
	BranchKept bool     `json:"branch_kept"`                  // after its removal: the branch has work that is merged nowhere

	CreatedAt time.Time  `json:"created_at" gorm:"serializer:ms"`
	UpdatedAt time.Time  `json:"updated_at" gorm:"serializer:ms"`
	RemovedAt *time.Time `json:"removed_at,omitempty" gorm:"serializer:ms"`
}

// Mark is what Git's list of worktrees calls the worktree of a ledger: nobody
// else's has the same.
func (w Worktree) Mark(ledgerPrefix string) string {
	return "cox " + ledgerPrefix + " " + w.AssignmentID + " " + strconv.Itoa(w.Generation)
}

// WorktreePlace is where a worktree will stand: <root>/<workspace>/<assignment>, on
// branch <prefix><assignment>.
func WorktreePlace(root, prefix, workspaceID, assignmentID string) (path, branch string) {
	name := SafeName(assignmentID)
	return filepath.Join(root, SafeName(workspaceID), name), prefix + name
}

// maxSafeName is the longest that a SafeName is, in bytes.
const maxSafeName = 100

// SafeName makes one file and branch name of a text: characters outside
// [A-Za-z0-9._-] become "_". A name that this changed, or that a file system or Git
// would take for something else, gets "_" and 16 hex of the text's hash, so that
// two texts never share a name.
func SafeName(text string) string {
	name := strings.Map(func(r rune) rune {
		if r == '.' || r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, text)
	name = strings.ReplaceAll(strings.TrimLeft(name, ".-"), "..", "__")
	name = name[:min(len(name), maxSafeName)]
	if strings.HasSuffix(name, ".") || strings.HasSuffix(strings.ToLower(name), ".lock") {
		name += "_"
	}
	if name == text && name != "" {
		return name
	}
	return name + "_" + ShortHash(text, 16)
}

var branchPrefix = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_-])?(/[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_-])?)*[/-]?$`)

// CheckBranchPrefix refuses what Git would not take as the beginning of a branch's
// name. Errors: INVALID_ARGUMENT.
func CheckBranchPrefix(prefix string) error {
	if branchPrefix.MatchString(prefix) && !strings.Contains(prefix, "..") && !strings.Contains(prefix, ".lock/") {
		return nil
	}
	return Invalid("branch_prefix", "%q cannot begin the name of a branch", prefix).Hint("such as cox/")
}
