package models

import (
	"path"
	"slices"
	"strings"
)

// RiskClass is why a request needs care.
type RiskClass string

// The classes, the riskiest first. The first six are those for which seed 000 demands
// a person's approval in every case.
const (
	RiskDeployment  RiskClass = "deployment"
	RiskPush        RiskClass = "git_push"
	RiskRegistry    RiskClass = "registry_build"
	RiskSecret      RiskClass = "secret_change"
	RiskCluster     RiskClass = "live_cluster"
	RiskDestructive RiskClass = "destructive" // of files; also what cannot be read
	RiskWidening    RiskClass = "widening"    // of sandbox or network
	RiskTool        RiskClass = "tool"        // of an MCP server other than the coordination server
	RiskQuestion    RiskClass = "question"
	RiskOrdinary    RiskClass = "ordinary" // none of the above
	RiskUnknown     RiskClass = "unknown"  // of a kind that nobody here can answer
)

// RiskClasses are the classes that a policy has rows for, the riskiest first.
func RiskClasses() []RiskClass {
	return append(AlwaysAsked(), RiskWidening, RiskTool, RiskQuestion, RiskOrdinary)
}

// AlwaysAsked are the six classes that no policy can accept.
func AlwaysAsked() []RiskClass {
	return []RiskClass{RiskDeployment, RiskPush, RiskRegistry, RiskSecret, RiskCluster, RiskDestructive}
}

// AlwaysAsks tells whether a class is one of the six.
func (c RiskClass) AlwaysAsks() bool { return slices.Contains(AlwaysAsked(), c) }

// Classify finds every class of a request, the riskiest first; never none. What
// cannot be read counts as destructive.
func Classify(r ApprovalRequest) []RiskClass {
	found := riskSet{}
	switch r.Kind {
	case RequestCommand:
		found.command(r)
	case RequestFiles:
		found.files(r.Files)
		found.add(RiskWidening) // Codex asks about files outside the writable folders only
	case RequestPermissions:
		found.add(RiskWidening)
	case RequestTool:
		found.add(RiskTool)
	case RequestInput:
		found.add(RiskQuestion)
	default:
		return []RiskClass{RiskUnknown}
	}
	if len(r.Widening) > 0 {
		found.add(RiskWidening)
	}
	return found.sorted()
}

// riskSet collects classes; they are few.
type riskSet struct{ classes []RiskClass }

func (s *riskSet) add(classes ...RiskClass) {
	for _, c := range classes {
		if !slices.Contains(s.classes, c) {
			s.classes = append(s.classes, c)
		}
	}
}

func (s *riskSet) sorted() []RiskClass {
	var out []RiskClass
	for _, c := range RiskClasses() {
		if slices.Contains(s.classes, c) {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		out = []RiskClass{RiskOrdinary}
	}
	return out
}

func (s *riskSet) command(r ApprovalRequest) {
	if len(r.Doubts) > 0 || len(r.Commands) == 0 {
		s.add(RiskDestructive)
	}
	for _, file := range r.Destroys {
		s.add(RiskDestructive)
		s.path(file)
	}
	for _, argv := range r.Commands {
		s.argv(argv)
	}
}

func (s *riskSet) files(changes []FileChange) {
	if len(changes) == 0 { // which files is not known
		s.add(RiskDestructive)
	}
	for _, c := range changes {
		if c.Change == "delete" {
			s.add(RiskDestructive)
		}
		s.path(c.Path)
	}
}

// argv classifies one command. Programs that start others (sudo, env, xargs, a tool
// nobody here knows) are seen through by looking at the rest of the words as a
// command too, at every place, unless the program only reads.
func (s *riskSet) argv(argv []string) {
	if len(argv) == 0 {
		return
	}
	s.named(argv[0])
	s.program(argv)
	s.words(argv)
	first := programName(argv[0])
	if readsOnly[first] {
		return
	}
	for i := 1; i < len(argv); i++ {
		if wrappers[first] || !everyday[programName(argv[i])] {
			s.program(argv[i:])
		}
		if strings.HasSuffix(argv[i], ".sh") || wrappers[first] && strings.Contains(argv[i], "/") {
			s.named(argv[i])
		}
	}
}

// program applies what is known of the program that the words begin with.
func (s *riskSet) program(argv []string) {
	s.rules(argv)
	if name := programName(argv[0]); runsTargets[name] || shells[name] {
		for _, word := range argv[1:] {
			s.named(word)
		}
	}
}

// named finds scripts and targets that say what they do: deploy.sh, make release.
func (s *riskSet) named(word string) {
	if strings.HasPrefix(word, "-") {
		return
	}
	name := strings.ToLower(path.Base(word))
	for _, n := range tellingNames {
		if strings.Contains(name, n.part) {
			s.add(n.class)
		}
	}
}

// rules applies the rules of the program that the words begin with.
func (s *riskSet) rules(argv []string) {
	name := programName(argv[0])
	if strings.HasPrefix(name, "mkfs") {
		s.add(RiskDestructive)
	}
	for _, r := range commandRules {
		if slices.Contains(r.programs, name) {
			if r.applies(argv[1:]) {
				s.add(r.class)
			}
		}
	}
}

// words looks for files that hold secrets, for statements that destroy data, and for
// other machines.
func (s *riskSet) words(argv []string) {
	if harmlessText[programName(argv[0])] {
		return
	}
	for _, word := range argv[1:] {
		s.path(word)
		lower := strings.ToLower(word)
		for _, statement := range destroyingSQL {
			if strings.Contains(lower, statement) {
				s.add(RiskDestructive)
			}
		}
	}
}

// path finds files that usually hold secrets.
func (s *riskSet) path(word string) {
	word = strings.ToLower(word)
	if _, value, ok := strings.Cut(word, "="); ok { // --file=.env
		s.path(value)
	}
	base := path.Base(word)
	if strings.HasPrefix(base, ".env") || slices.Contains(secretFiles, base) {
		s.add(RiskSecret)
	}
	for _, folder := range secretFolders {
		if strings.Contains("/"+word+"/", folder) {
			s.add(RiskSecret)
		}
	}
	for _, end := range secretEndings {
		if strings.HasSuffix(base, end) {
			s.add(RiskSecret)
		}
	}
}

// programName is the name of a program without its folder and Windows ending.
func programName(word string) string {
	return strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(word, `\`, "/"))), ".exe")
}
