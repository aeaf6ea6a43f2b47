package directive_test

import (
	"reflect"
	"strings"
	"testing"

	"coxswain/activities/codex/directive"

	"pgregory.net/rapid"
)

func TestParseTakesDirectivesInOrder(t *testing.T) {
	got := directive.Parse("Please do this\r\n@say hello  world \r\n @say indented\n@shout x\n@run sleep 30\n@hang\n")
	want := []directive.Step{{Verb: "say", Args: "hello  world"}, {Verb: "run", Args: "sleep 30"}, {Verb: "hang"}}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if got := directive.Parse("no directive, an@mail"); got != nil {
		t.Fatalf("text without directives gave %v", got)
	}
}

func TestStepArguments(t *testing.T) {
	step := directive.Parse("@write a/b.txt two words")[0]
	if path, text := step.File(); path != "a/b.txt" || text != "two words" {
		t.Fatalf("File: %q %q", path, text)
	}
	name, args, err := directive.Parse(`@tool heartbeat {"run_id":"r1"}`)[0].Call()
	if err != nil || name != "heartbeat" || args["run_id"] != "r1" {
		t.Fatalf("Call: %q %v %v", name, args, err)
	}
	if _, args, err := directive.Parse("@tool status")[0].Call(); err != nil || args == nil || len(args) != 0 {
		t.Fatalf("Call without arguments: %v %v", args, err)
	}
	if _, _, err := directive.Parse("@tool status nonsense")[0].Call(); err == nil || !strings.Contains(err.Error(), "status") {
		t.Fatalf("Call with bad arguments: %v", err)
	}
	for text, want := range map[string]int{"@fail 429": 429, "@fail": 500, "@fail 200": 500} {
		if got := directive.Parse(text)[0].HTTPStatus(); got != want {
			t.Errorf("%s: status %d, want %d", text, got, want)
		}
	}
}

func TestResponsesGroupMessagesWithTheirCall(t *testing.T) {
	got := directive.Responses(directive.Parse("@say a\n@run b\n@say c\n@say d"))
	want := [][]directive.Step{{{Verb: "say", Args: "a"}, {Verb: "run", Args: "b"}}, {{Verb: "say", Args: "c"}, {Verb: "say", Args: "d"}}}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if got := directive.Responses(directive.Parse("@fail 500\n@say never")); len(got) != 1 || len(got[0]) != 1 {
		t.Fatalf("fail does not end the list: %v", got)
	}
	if directive.Responses(nil) != nil {
		t.Fatal("no steps gave a response")
	}
}

// Written steps read back as they were, and grouping neither loses nor reorders
// a step and always ends the turn.
func TestRoundTripAndGrouping(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		verb := rapid.SampledFrom([]string{directive.Say, directive.Run, directive.Write, directive.Tool})
		args := rapid.StringMatching(`[a-z]{1,5}( [a-z@]{1,5}){0,2}`)
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) directive.Step {
			return directive.Step{Verb: verb.Draw(t, "verb"), Args: args.Draw(t, "args")}
		}), 1, 8).Draw(t, "steps")
		var lines []string
		for _, s := range steps {
			lines = append(lines, s.String())
		}
		if got := directive.Parse(strings.Join(lines, "\n")); !reflect.DeepEqual(got, steps) {
			t.Fatalf("got %v, want %v", got, steps)
		}
		var flat []directive.Step
		groups := directive.Responses(steps)
		for _, g := range groups {
			flat = append(flat, g...)
		}
		if !reflect.DeepEqual(flat[:len(steps)], steps) || len(flat)-len(steps) > 1 {
			t.Fatalf("grouping changed the steps: %v", flat)
		}
		if last := groups[len(groups)-1]; last[len(last)-1].Verb != directive.Say {
			t.Fatalf("the turn does not end: %v", groups)
		}
	})
}
