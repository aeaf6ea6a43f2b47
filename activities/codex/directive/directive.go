package directive

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// The verbs of the language.
const (
	Say   = "say"   // Args: the text of an agent message
	Run   = "run"   // Args: a shell command line
	Ask   = "ask"   // Args: a shell command line that asks for leave to run outside the sandbox
	Write = "write" // Args: path and text, see Step.File
	Tool  = "tool"  // Args: name and JSON object, see Step.Call
	Fail  = "fail"  // Args: an HTTP status, see Step.HTTPStatus
	Hang  = "hang"  // no Args: the model never answers
)

// Step is one directive.
type Step struct {
	Verb string // one of the constants above
	Args string // the rest of the line without surrounding white space
}

// Parse returns the directives of a text in order, nil when it has none. Lines
// may end in CRLF.
func Parse(text string) []Step {
	var steps []Step
	for line := range strings.Lines(text) {
		if step, ok := parseLine(strings.TrimRight(line, "\r\n")); ok {
			steps = append(steps, step)
		}
	}
	return steps
}

func parseLine(line string) (Step, bool) {
	rest, ok := strings.CutPrefix(line, "@")
	if !ok {
		return Step{}, false
	}
	verb, args, _ := strings.Cut(rest, " ")
	switch verb {
	case Say, Run, Ask, Write, Tool, Fail, Hang:
		return Step{Verb: verb, Args: strings.TrimSpace(args)}, true
	}
	return Step{}, false
}

// String writes the step as a line of the language, without a line end.
func (s Step) String() string { return strings.TrimRight("@"+s.Verb+" "+s.Args, " ") }

// File splits the arguments of write into the path, relative to the thread's
// folder, and the text after it.
func (s Step) File() (path, text string) {
	path, text, _ = strings.Cut(s.Args, " ")
	return path, text
}

// Call splits the arguments of tool into the tool's name and its arguments.
// Without JSON the arguments are an empty object; what is no JSON object is an
// error naming the tool.
func (s Step) Call() (name string, args map[string]any, err error) {
	name, text, _ := strings.Cut(s.Args, " ")
	args = map[string]any{}
	if text = strings.TrimSpace(text); text == "" {
		return name, args, nil
	}
	if err := json.Unmarshal([]byte(text), &args); err != nil {
		return name, nil, fmt.Errorf("directive @tool %s: arguments are no JSON object: %w", name, err)
	}
	if args == nil { // the JSON text was "null"
		args = map[string]any{}
	}
	return name, args, nil
}

// HTTPStatus returns the status of fail, 500 when it names none between 400 and
// 599.
func (s Step) HTTPStatus() int {
	code, err := strconv.Atoi(s.Args)
	if err != nil || code < 400 || code > 599 {
		return 500
	}
	return code
}

// Responses groups steps into the model responses that play them: messages
// before a command, file or tool call go out together with it, because a
// response without a call ends a turn. Response n is the answer to a request
// that follows n results. The last response is the turn's end; it holds
// "@say done" when nothing else is left to say. An empty list has no response.
func Responses(steps []Step) [][]Step {
	if len(steps) == 0 {
		return nil
	}
	var out [][]Step
	var group []Step
	for _, step := range steps {
		group = append(group, step)
		switch step.Verb {
		case Fail, Hang:
			return append(out, group)
		case Run, Ask, Write, Tool:
			out, group = append(out, group), nil
		}
	}
	if len(group) == 0 {
		group = []Step{{Verb: Say, Args: "done"}}
	}
	return append(out, group)
}
