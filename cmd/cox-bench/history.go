package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

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
	var own, whole samplesOfEvents
	for n := 1; n <= s.b.idleStarts; n++ {
		mine, delivery, err := s.oneTurn(ctx, loopName(n), lengths)
		if err != nil {
			return nil, err
		}
		own, whole = append(own, mine), append(whole, mine+delivery)
	}
	kinds, err := s.kinds(ctx, c, ledger.AssignmentWorkflow(loopName(1)))
	if err != nil {
		return nil, err
	}
	all := map[string]any{"each": whole}
	for name, events := range byType {
		all["all_"+name+"_events_per_assignment"] = rounded(float64(events) / float64(s.b.idleStarts+1))
	}
	return []row{
		atMost("one turn in history: events of the assignment's workflow, worst", own.worst(), "events", 40, map[string]any{"each": own, "types_of_one": kinds}),
		atMost("one turn in history: the same with the delivery into its thread, worst", whole.worst(), "events", 40, all),
	}, nil
}

// samplesOfEvents are lengths of histories.
type samplesOfEvents []int64

func (s samplesOfEvents) worst() float64 { return float64(slices.Max(append(s, 0))) }

// oneTurn is the length of an assignment's own history and of the delivery into
// its worker's thread.
func (s *stack) oneTurn(ctx context.Context, id string, lengths map[string]int64) (own, delivery int64, err error) {
	runs, err := s.ledger.Runs(ctx, ledger.RunFilter{AssignmentID: id})
	if err != nil {
		return 0, 0, err
	}
	if len(runs) != 1 {
		return 0, 0, fmt.Errorf("assignment %s has %d runs", id, len(runs))
	}
	own = lengths[workflows.ID(s.ledger.Prefix(), ledger.AssignmentWorkflow(id))]
	delivery = lengths[workflows.ID(s.ledger.Prefix(), ledger.DeliveryWorkflow(runs[0].SessionRef))]
	if own == 0 || delivery == 0 {
		return 0, 0, fmt.Errorf("assignment %s has no history of its own or of its delivery", id)
	}
	return own, delivery, nil
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
