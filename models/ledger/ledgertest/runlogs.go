package ledgertest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

func runLogTests() map[string]func(*env) {
	return map[string]func(*env){
		"runlog/tells_a_run_in_order":       runLogInOrder,
		"runlog/work_stands_before_handoff": runLogBeforeHandoff,
		"runlog/withholds_secrets":          runLogSecrets,
		"runlog/keeps_the_newest_items":     runLogBounded,
		"runlog/what_was_missed_is_added":   runLogMissed,
		"runlog/turns_under_way_of_a_node":  turnsUnderWay,
	}
}

func seenItem(turn, id, kind, text string) ledger.SeenItem {
	return ledger.SeenItem{ID: id, TurnID: turn, Type: kind, Status: "completed", Text: text}
}

func (e *env) progress(seen ...ledger.SeenItem) {
	e.Helper()
	e.ok(e.l.TurnProgress(e.ctx, ledger.TurnReport{ThreadID: "thread-one", TurnID: "turn-1", Items: len(seen), LastItem: "x", Seen: seen, Tokens: models.TokenUsage{Input: 5, Output: 6, Total: 11}}))
}

func (e *env) log(run string) ledger.RunLog {
	e.Helper()
	g, err := e.l.RunLog(e.ctx, run)
	e.ok(err)
	return g
}

// lines are the texts of a run's log of some kinds.
func (e *env) lines(run string, kinds ...models.LogKind) []string {
	e.Helper()
	var out []string
	for _, entry := range e.log(run).Entries {
		if len(kinds) == 0 || slices.Contains(kinds, entry.Kind) {
			out = append(out, entry.Text)
		}
	}
	return out
}

// What was reported late stands before the handoff that it went before.
func runLogBeforeHandoff(e *env) {
	e.node()
	run, by := e.managed("one")
	e.startTurn("thread-one", "turn-1")
	e.clock.advance(time.Second)
	e.handOff(by, "one")
	e.clock.advance(time.Second)
	e.progress(seenItem("turn-1", "i1", "fileChange", "docs/one.md"), seenItem("turn-1", "i2", "mcpToolCall", "cox/submit_handoff"), seenItem("turn-1", "i3", "agentMessage", "Done."))
	lines := e.lines(run.ID, models.LogItem, models.LogHandoff)
	same(e, "lines", len(lines), 4)
	for i, want := range []string{"fileChange: docs/one.md", "handed off by", "mcpToolCall: cox/submit_handoff", "agentMessage: Done."} {
		same(e, fmt.Sprintf("line %d, %q, is %q", i, lines[i], want), strings.Contains(lines[i], want), true)
	}
}

func runLogInOrder(e *env) {
	e.node()
	run, by := e.managed("one")
	step := func(do func()) { e.clock.advance(time.Second); do() }
	step(func() { e.startTurn("thread-one", "turn-1") })
	step(func() {
		e.progress(seenItem("turn-1", "i1", "commandExecution", "go test ./...\nok"))
	})
	step(func() { _, err := e.l.HeartbeatRun(e.ctx, ledger.As(by), run.ID, "half way"); e.ok(err) })
	step(func() { _, err := e.say(run.ID, "mind the gap"); e.ok(err) })
	step(func() { e.handOff(by, "one") })
	step(func() {
		e.ok(e.l.EndTurn(e.ctx, ledger.TurnReport{
			ThreadID: "thread-one", TurnID: "turn-1", Status: models.TurnCompleted, Items: 2, LastItem: "agentMessage",
			Seen: []ledger.SeenItem{seenItem("turn-1", "i2", "agentMessage", "All done.")}, Tokens: models.TokenUsage{Input: 7, Output: 8, Total: 15},
		}))
	})
	g := e.log(run.ID)
	ids := map[string]bool{}
	for i, entry := range g.Entries {
		same(e, "in order", i == 0 || !entry.At.Before(g.Entries[i-1].At), true)
		ids[entry.ID] = true
	}
	same(e, "every entry has its own id", len(ids), len(g.Entries))
	same(e, "nothing is missing", g.Unrecorded, 0)
	all := strings.Join(e.lines(run.ID), "\n")
	at := 0
	for _, want := range []string{
		"start_assignment planned", "worker_assignment", "turn started", "commandExecution: go test ./... ok", "heartbeat: half way",
		"says: mind the gap", "handed off by", "turn completed after 5s, 2 items, 15 tokens", "run ended",
	} {
		next := strings.Index(all[at:], want)
		if next < 0 {
			e.Fatalf("the log lacks %q after %q:\n%s", want, all[:at], all)
		}
		at += next
	}
	_, err := e.l.RunLog(e.ctx, "run_none")
	e.refused(models.CodeNotFound, err)
}

func runLogSecrets(e *env) {
	e.node()
	run, _ := e.managed("one")
	e.startTurn("thread-one", "turn-1")
	prompt := seenItem("turn-1", "i2", "userMessage", "the whole prompt")
	prompt.ClientID = "msg_1"
	e.progress(seenItem("turn-1", "i1", "commandExecution", "curl -H 'X: y' "+strings.Repeat("z", 300)+" password=hunter2hunter2"), prompt)
	all := strings.Join(e.lines(run.ID, models.LogItem), "\n")
	same(e, "the secret", strings.Contains(all, "hunter2") || strings.Contains(all, "curl"), false)
	same(e, "says so", strings.Contains(all, "withheld"), true)
	same(e, "a prompt is named only", strings.Contains(all, "msg_1") && !strings.Contains(all, "whole"), true)
}

func runLogBounded(e *env) {
	e.node()
	run, _ := e.managed("one")
	e.startTurn("thread-one", "turn-1")
	const more = 5
	var seen []ledger.SeenItem
	for n := range ledger.MaxRunItems + more {
		seen = append(seen, seenItem("turn-1", fmt.Sprintf("i%d", n), "agentMessage", strings.Repeat("word ", 100)+strconv.Itoa(n)))
	}
	e.progress(seen...)
	items, err := e.l.RunItems(e.ctx, run.ID)
	e.ok(err)
	same(e, "kept", len(items), ledger.MaxRunItems)
	same(e, "the oldest one kept", items[0].ItemID, fmt.Sprintf("i%d", more))
	same(e, "one short line", len([]rune(items[0].Summary)), models.MaxItemSummary)
	same(e, "the others are counted", e.log(run.ID).Unrecorded, more)
}

func runLogMissed(e *env) {
	e.node()
	run, _ := e.managed("one")
	e.startTurn("thread-one", "turn-1")
	e.progress(seenItem("turn-1", "i1", "agentMessage", "first"))
	e.ok(e.l.RecordItems(e.ctx, "thread-one", []ledger.SeenItem{seenItem("turn-1", "i1", "agentMessage", "first"), seenItem("turn-1", "i2", "agentMessage", "missed")}))
	e.ok(e.l.RecordItems(e.ctx, "nobodys", []ledger.SeenItem{seenItem("turn-9", "i9", "agentMessage", "x")}))
	sameJSON(e, "each once", e.lines(run.ID, models.LogItem), []string{"agentMessage: first", "agentMessage: missed"})
}

// A node's turns are under way from their start to their end, and known by the
// assignment that they work for.
func turnsUnderWay(e *env) {
	e.node()
	run, _ := e.managed("one")
	node := e.run(run.ID).NodeID
	under := func(node string) []ledger.TurnUnderWay {
		e.Helper()
		turns, err := e.l.TurnsUnderWay(e.ctx, node)
		e.ok(err)
		return turns
	}
	same(e, "before the turn", len(under(node)), 0)
	e.startTurn("thread-one", "turn-1")
	turns := under(node)
	same(e, "during the turn", len(turns), 1)
	same(e, "name", turns[0].Name(), "one")
	same(e, "run", turns[0].RunID, run.ID)
	same(e, "began", turns[0].StartedAt, start)
	same(e, "of another node", len(under("elsewhere")), 0)
	e.endTurn("thread-one", "turn-1")
	same(e, "after the turn", len(under(node)), 0)
}
