package ledger

import (
	"strings"
	"unicode"

	"coxswain/models"
)

// blackedOut is a request with everything blacked out that looks like a secret, so
// that it can be stored and shown.
func blackedOut(r models.ApprovalRequest) (models.ApprovalRequest, error) {
	b := blackener{}
	r.Command, r.CWD, r.Server, r.Tool, r.Reason = b.text(r.Command), b.text(r.CWD), b.text(r.Server), b.text(r.Tool), b.text(r.Reason)
	r.Argv, r.Doubts, r.Destroys, r.Widening = b.texts(r.Argv), b.texts(r.Doubts), b.texts(r.Destroys), b.texts(r.Widening)
	commands := make([][]string, 0, len(r.Commands))
	for _, argv := range r.Commands {
		commands = append(commands, b.texts(argv))
	}
	r.Commands = commands
	files := make([]models.FileChange, 0, len(r.Files))
	for _, f := range r.Files {
		files = append(files, models.FileChange{Path: b.text(f.Path), Change: f.Change, Diff: b.text(f.Diff)})
	}
	r.Files = files
	questions := make([]models.InputQuestion, 0, len(r.Questions))
	for _, q := range r.Questions {
		q.Text, q.Options = b.text(q.Text), b.texts(q.Options)
		questions = append(questions, q)
	}
	r.Questions = questions
	return r, b.err
}

// blackener replaces secrets; the first failure is kept.
type blackener struct{ err error }

func (b *blackener) texts(list []string) []string {
	out := make([]string, 0, len(list))
	for _, t := range list {
		out = append(out, b.text(t))
	}
	return out
}

// text blacks out the words of a text that hold a secret, and the whole text where the
// secret is not in a single word.
func (b *blackener) text(text string) string {
	if b.rule(text) == "" {
		return text
	}
	var out strings.Builder
	for _, piece := range pieces(text) {
		if rule := b.rule(piece); rule != "" {
			piece = "<redacted: " + rule + ">"
		}
		out.WriteString(piece)
	}
	if rule := b.rule(out.String()); rule != "" {
		return "<redacted: " + rule + ">"
	}
	return out.String()
}

func (b *blackener) rule(text string) string {
	rule, err := textRule(text)
	if err != nil && b.err == nil {
		b.err = err
	}
	return rule
}

// pieces cuts a text into words and the white space and quotes between them.
func pieces(text string) []string {
	between := func(r rune) bool { return unicode.IsSpace(r) || r == '\'' || r == '"' || r == '`' }
	var out []string
	begin := 0
	for i, r := range text {
		if between(r) {
			out = append(out, text[begin:i], string(r))
			begin = i + len(string(r))
		}
	}
	return append(out, text[begin:])
}
