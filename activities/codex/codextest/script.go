package codextest

import (
	"fmt"
	"regexp"

	"coxswain/activities/codex/directive"
)

// MCPServerName is the server that the directive @tool calls.
const MCPServerName = "cox"

// Script plays the replies of one turn: the first for the prompt, each next one
// after one more result. Past the last it says "done".
func Script(replies ...Reply) Model {
	return func(r Request) Reply {
		if n := len(r.Outputs); n < len(replies) {
			return replies[n]
		}
		return Say("done")
	}
}

// Directives plays the directives of the newest user message; a text without any
// is left to the other model, nil for one that says "done".
func Directives(otherwise Model) Model {
	if otherwise == nil {
		otherwise = Script()
	}
	return func(r Request) Reply {
		responses := directive.Responses(directive.Parse(r.User))
		if responses == nil {
			return otherwise(r)
		}
		if session := runningSession(r.Outputs); session != "" {
			return WaitFor(callID(r), session)
		}
		n := finished(r.Outputs)
		if n >= len(responses) {
			return Say("done")
		}
		var replies []Reply
		for _, step := range responses[n] {
			replies = append(replies, play(r, step))
		}
		return Together(replies...)
	}
}

func play(r Request, step directive.Step) Reply {
	switch step.Verb {
	case directive.Run:
		return Exec(callID(r), step.Args)
	case directive.Ask:
		return Escalate(callID(r), step.Args)
	case directive.Write:
		path, text := step.File()
		return Patch(callID(r), path, text)
	case directive.Tool:
		name, args, err := step.Call()
		if err != nil {
			return Say(err.Error())
		}
		return Tool(callID(r), MCPServerName, name, args)
	case directive.Fail:
		return Failure(step.HTTPStatus())
	case directive.Hang:
		return Reply{Pause: true}
	}
	return Say(step.Args)
}

// callID is unique within a thread: the history only grows.
func callID(r Request) string {
	input, _ := r.Body["input"].([]any)
	return fmt.Sprintf("call_%d", len(input))
}

// A command that outlives the wait answers with its session instead of an exit
// code; such a result is no step's end.
var sessionPattern = regexp.MustCompile(`Process running with session ID (\d+)`)

func runningSession(outputs []string) string {
	if len(outputs) == 0 {
		return ""
	}
	if m := sessionPattern.FindStringSubmatch(outputs[len(outputs)-1]); m != nil {
		return m[1]
	}
	return ""
}

func finished(outputs []string) int {
	n := 0
	for _, text := range outputs {
		if !sessionPattern.MatchString(text) {
			n++
		}
	}
	return n
}
