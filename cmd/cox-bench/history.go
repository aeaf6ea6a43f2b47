package main

import (
	"context"
	"fmt"
	"log/slog"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"coxswain/models/ledger"
	"coxswain/workflows"
)

// history counts the events that the measured assignments left in Temporal. Each
// had one worker turn and one review.
func (s *stack) history(ctx context.Context) ([]row, error) {
	if err := s.idle(ctx); err != nil {
		return nil, err
	}
	c, err := workflows.Dial(ctx, workflows.Engine{Address: s.engine.Address, Namespace: s.engine.Namespace}, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	lengths, byType, err := histories(ctx, c, s.engine.Namespace)
	if err != nil {
		return nil, err
	}
	turn := make([]float64, 0, s.b.idleStarts)
	for n := 1; n <= s.b.idleStarts; n++ {
		events, err := s.oneTurn(ctx, loopName(n), lengths)
		if err != nil {
			return nil, err
		}
		turn = append(turn, events)
	}
	worst := 0.0
	for _, t := range turn {
		worst = max(worst, t)
	}
	kinds, err := s.kinds(ctx, c, ledger.AssignmentWorkflow(loopName(1)))
	if err != nil {
		return nil, err
	}
	detail := map[string]any{"assignments": len(turn), "each": turn, "assignment_workflow_event_types": kinds}
	for name, events := range byType {
		detail["all_"+name+"_events_per_assignment"] = rounded(float64(events) / float64(s.b.idleStarts+1))
	}
	return []row{atMost("events in history of one assignment with one turn (its workflow and its thread's delivery), worst", worst, "events", 40, detail)}, nil
}

// oneTurn is the length of an assignment's own history and of the delivery into
// its worker's thread.
func (s *stack) oneTurn(ctx context.Context, id string, lengths map[string]int64) (float64, error) {
	runs, err := s.ledger.Runs(ctx, ledger.RunFilter{AssignmentID: id})
	if err != nil {
		return 0, err
	}
	if len(runs) != 1 {
		return 0, fmt.Errorf("assignment %s has %d runs", id, len(runs))
	}
	total := int64(0)
	for _, workflow := range []string{ledger.AssignmentWorkflow(id), ledger.DeliveryWorkflow(runs[0].SessionRef)} {
		n := lengths[workflows.ID(s.ledger.Prefix(), workflow)]
		if n == 0 {
			return 0, fmt.Errorf("workflow %s has no history", workflow)
		}
		total += n
	}
	return float64(total), nil
}

// kinds counts the event types of one workflow's last run.
func (s *stack) kinds(ctx context.Context, c client.Client, workflowID string) (map[string]int, error) {
	out := map[string]int{}
	events := c.GetWorkflowHistory(ctx, workflows.ID(s.ledger.Prefix(), workflowID), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			return nil, err
		}
		out[e.GetEventType().String()]++
	}
	return out, nil
}

// histories adds up the lengths of all histories, by workflow id and by type.
func histories(ctx context.Context, c client.Client, namespace string) (byID, byType map[string]int64, err error) {
	byID, byType = map[string]int64{}, map[string]int64{}
	var page []byte
	for {
		answer, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, NextPageToken: page})
		if err != nil {
			return nil, nil, err
		}
		for _, e := range answer.GetExecutions() {
			d, err := c.DescribeWorkflowExecution(ctx, e.GetExecution().GetWorkflowId(), e.GetExecution().GetRunId())
			if err != nil {
				return nil, nil, err
			}
			n := d.GetWorkflowExecutionInfo().GetHistoryLength() // a list shows it only of ended ones
			byID[e.GetExecution().GetWorkflowId()] += n
			byType[e.GetType().GetName()] += n
		}
		if page = answer.GetNextPageToken(); len(page) == 0 {
			return byID, byType, nil
		}
	}
}
