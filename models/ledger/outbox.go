package ledger

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"coxswain/models"
)

// queue writes a text for a thread and wakes its sender. The same id twice is
// the same text.
func (tx *Tx) queue(item models.OutboxItem) error {
	item.CreatedAt = tx.Now
	_, found, err := find[models.OutboxItem](tx.db, "id = ?", item.ID)
	if err != nil || found {
		return err
	}
	return errors.Join(tx.insert(&item), tx.wake(WakeDelivery, DeliveryWorkflow(item.ThreadID), item.ThreadID))
}

// QueueMessage closes a resume or nudge command by queueing its text, when the
// attempt still owns it and it is still wanted; otherwise the command fails with
// the reason and nothing is sent.
func (l *Ledger) QueueMessage(ctx context.Context, commandID, owner, text string) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		cmd, lost, err := tx.owned(commandID, owner)
		if err != nil || lost {
			return err
		}
		return tx.queueMessage(cmd, text)
	})
}

// queueMessage queues the text of an owned command, or fails the command where
// nobody wants it any more.
func (tx *Tx) queueMessage(cmd models.Command, text string) error {
	b, err := get[models.Binding](tx.db, "binding", cmd.BindingID)
	if err != nil {
		return err
	}
	item := models.OutboxItem{
		ID: models.MessageID(cmd.ID), BindingID: b.ID, Generation: b.Generation, ThreadID: b.ThreadID,
		CommandID: cmd.ID, RunID: cmd.RunID, Kind: cmd.PromptKind, Text: text, State: models.OutboxPending,
	}
	item = perhapsSent(item, cmd)
	why, err := unwanted(tx.db, item, cmd)
	if err == nil && why == "" && cmd.Type == models.CommandResume {
		why, err = tx.overtaken(cmd)
	}
	if err != nil || why != "" {
		return errors.Join(err, tx.closeCommand(cmd, models.CommandFailed, "not_wanted", why))
	}
	if err := tx.queue(item); err != nil {
		return err
	}
	if cmd.RunID != "" {
		if err := tx.cursor(cmd.RunID, map[string]any{"last_command_id": cmd.ID, "last_client_user_message_id": item.ID}); err != nil {
			return err
		}
	}
	if cmd.Type == models.CommandNudge {
		if err := tx.journal(cmd, models.EventReviewNudgeDispatched, "queued"); err != nil {
			return err
		}
	}
	return tx.closeCommand(cmd, models.CommandDone, "message_queued", "")
}

// overtaken refuses a resume of a run that works already, and one that waited while a
// later turn began and ended: what follows from that one is another command.
func (tx *Tx) overtaken(cmd models.Command) (string, error) {
	var last []models.Turn
	if err := tx.db.Where("run_id = ?", cmd.RunID).Order("started_at DESC, id DESC").Limit(1).Find(&last).Error; err != nil || len(last) == 0 {
		return "", err
	}
	if !last[0].Status.Ended() {
		return "a turn is active", nil
	}
	_, ofTurn, err := find[models.Turn](tx.db, "id = ?", cmd.Cause)
	if err == nil && ofTurn && last[0].ID != cmd.Cause {
		return "a later turn has ended", nil
	}
	return "", err
}

// unwanted tells why an item shall not be sent, "" when it is still wanted.
func unwanted(db *gorm.DB, item models.OutboxItem, cmd models.Command) (string, error) {
	b, err := get[models.Binding](db, "binding", item.BindingID)
	if err != nil {
		return "", err
	}
	switch {
	case b.Status != "active" || b.Generation != item.Generation || b.ThreadID != item.ThreadID:
		return "the thread was replaced", nil
	case cmd.Type == models.CommandNudge:
		left, err := undecidedEvents(db, cmd.EventIDs)
		if err == nil && len(left) == 0 {
			return "every handoff is decided", nil
		}
		return "", err
	}
	run, err := get[models.Run](db, "run", item.RunID)
	if err != nil {
		return "", err
	}
	if run.Status.Terminal() || run.EndedAt != nil {
		return "the run is " + string(run.Status), nil
	}
	if run.Status == models.RunAwaitingHuman { // a text for a run that waits for leave is held instead
		return "the run waits for a person", nil
	}
	return "", nil
}

// undecidedEvents are those of the handoffs that still wait for a decision.
func undecidedEvents(db *gorm.DB, eventIDs []string) ([]string, error) {
	var out []string
	if len(eventIDs) == 0 {
		return nil, nil
	}
	err := db.Table("assignments").Where("handoff_event_id IN ? AND status = 'awaiting_review'", eventIDs).Order("handoff_event_id").Pluck("handoff_event_id", &out).Error
	return out, err
}

// Message is one text to deliver with what the sender needs.
type Message struct {
	Item      models.OutboxItem
	Text      string
	Binding   models.Binding
	Workspace models.Workspace
	Team      models.Team
	Again     bool // an earlier attempt may have sent it: read the thread first
	FirstTurn bool // the ledger knows no turn of the thread in which anything happened
}

// Sending is what the sender of a thread shall do next.
type Sending struct {
	Message *Message   // nil: nothing to send now
	NodeID  string     // the node that has the thread
	WakeAt  *time.Time // when a message is tried again
	Pending int        // messages that are not delivered
	Card    Card
}

// NextMessage reads what the sender of a thread shall do, without changing
// anything.
func (l *Ledger) NextMessage(ctx context.Context, threadID string) (Sending, error) {
	db := l.read(ctx)
	var items []models.OutboxItem
	err := db.Where("thread_id = ? AND state IN ('pending','sending')", threadID).Order("created_at, id").Find(&items).Error
	if err != nil {
		return Sending{}, err
	}
	b, found, err := find[models.Binding](db, "thread_id = ?", threadID)
	if err != nil {
		return Sending{}, err
	}
	out := Sending{NodeID: b.NodeID, Pending: len(items), Card: Card{
		WorkspaceID: b.WorkspaceID, TeamID: b.TeamID,
		AssignmentID: b.AssignmentID, ActorID: b.ActorID, Status: "idle",
	}}
	out.Card.Text = "**Thread** `" + threadID + "` · " + string(b.Kind) + "\n"
	for _, i := range items {
		out.Card.Status = string(i.State)
		out.Card.Text += "- message `" + i.ID + "` " + string(i.Kind) + ": " + string(i.State) + "\n"
	}
	if len(items) == 0 {
		return out, nil
	}
	if !found { // the thread was replaced; its items moved or are dropped by BeginMessage
		out.NodeID = ""
	}
	if waits, err := promptWaits(db, threadID); err != nil || waits {
		out.Card.Status = "held" // the end of the request wakes the sender
		return out, err
	}
	head := items[0]
	if head.NotBefore != nil && head.NotBefore.After(l.Now()) {
		out.WakeAt = head.NotBefore
		return out, nil
	}
	if head.State == models.OutboxPending {
		if held, err := messageHeld(db, head); err != nil || held {
			return out, err // until the stop of its team is lifted, which wakes
		}
	}
	out.Message = &Message{Item: head}
	return out, nil
}

// BeginMessage makes an attempt the owner of the thread's oldest message. It
// returns nil when there is none that is still wanted, or a stop holds it; unwanted
// ones are dropped on the way.
func (l *Ledger) BeginMessage(ctx context.Context, threadID, owner string) (*Message, error) {
	var out *Message
	err := l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		out = nil
		for {
			item, free, err := tx.nextMessage(threadID)
			if err != nil || !free {
				return err
			}
			why, err := tx.itemUnwanted(item)
			if err != nil {
				return err
			}
			if why == "" || item.State == models.OutboxSending && item.Owner != "" && why != "the thread was replaced" {
				out, err = tx.takeMessage(item, owner)
				return err
			}
			if err := tx.settleItem(item, models.OutboxDropped, why); err != nil {
				return err
			}
		}
	})
	return out, err
}

// nextMessage is the thread's oldest message; free is false without one, and while a
// stop or a request that waits for an answer holds it.
func (tx *Tx) nextMessage(threadID string) (item models.OutboxItem, free bool, err error) {
	item, found, err := tx.oldest(threadID)
	if err != nil || !found {
		return item, false, err
	}
	if item.State == models.OutboxPending {
		if held, err := messageHeld(tx.db, item); err != nil || held {
			return item, false, err
		}
	}
	waits, err := promptWaits(tx.db, threadID)
	return item, err == nil && !waits, err
}

func (tx *Tx) oldest(threadID string) (item models.OutboxItem, found bool, err error) {
	var rows []models.OutboxItem
	err = tx.db.Where("thread_id = ? AND state IN ('pending','sending')", threadID).Order("created_at, id").Limit(1).Find(&rows).Error
	if len(rows) == 0 {
		return item, false, err
	}
	return rows[0], true, err
}

func (tx *Tx) itemUnwanted(item models.OutboxItem) (string, error) { return itemUnwanted(tx.db, item) }

// itemUnwanted is unwanted for an item with the command that asked for it. A
// person's words have none.
func itemUnwanted(db *gorm.DB, item models.OutboxItem) (string, error) {
	if item.CommandID == "" {
		return unwanted(db, item, models.Command{})
	}
	cmd, err := get[models.Command](db, "command", item.CommandID)
	if err != nil {
		return "", err
	}
	return unwanted(db, item, cmd)
}

// takeMessage hands the item to an attempt. An item that was perhaps sent and is
// no longer wanted is taken too, so that its receipt is found out, but it is
// never sent again (StillWanted).
func (tx *Tx) takeMessage(item models.OutboxItem, owner string) (*Message, error) {
	m := &Message{Again: item.State == models.OutboxSending}
	item.State, item.Owner, item.Attempts = models.OutboxSending, owner, item.Attempts+1
	_, err := tx.swap(&models.OutboxItem{}, map[string]any{"state": item.State, "owner": owner, "attempts": item.Attempts, "not_before": nil}, "id = ?", item.ID)
	if err != nil {
		return nil, err
	}
	m.Item, m.Text = item, item.Text
	if m.Binding, err = get[models.Binding](tx.db, "binding", item.BindingID); err != nil {
		return nil, err
	}
	if m.Workspace, err = get[models.Workspace](tx.db, "workspace", m.Binding.WorkspaceID); err != nil {
		return nil, err
	}
	if m.Team, err = get[models.Team](tx.db, "team", m.Binding.TeamID); err != nil {
		return nil, err
	}
	var turns int64
	err = tx.db.Model(&models.Turn{}).Where("thread_id = ? AND NOT (status IN ('lost','interrupted') AND items = 0)", item.ThreadID).Count(&turns).Error
	m.FirstTurn = turns == 0
	return m, err
}

// StillWanted is the last look before the effect: the attempt owns the item and
// nothing made it pointless.
func (l *Ledger) StillWanted(ctx context.Context, itemID, owner string) (bool, error) {
	db := l.read(ctx)
	item, err := get[models.OutboxItem](db, "message", itemID)
	if err != nil || item.Owner != owner || item.State != models.OutboxSending {
		return false, err
	}
	why, err := itemUnwanted(db, item)
	return why == "", err
}

// settle ends an item without delivery.
func (tx *Tx) settleItem(item models.OutboxItem, state models.OutboxState, reason string) error {
	_, err := tx.swap(&models.OutboxItem{}, map[string]any{"state": state, "reason": reason}, "id = ?", item.ID)
	return errors.Join(err, tx.wakeOwner(item))
}

func (tx *Tx) wakeOwner(item models.OutboxItem) error {
	b, err := get[models.Binding](tx.db, "binding", item.BindingID)
	if err != nil {
		return err
	}
	err = tx.wakeLoop(b.WorkspaceID, b.TeamID)
	if b.AssignmentID != "" {
		err = errors.Join(err, tx.wakeAssignment(b.AssignmentID))
	}
	return err
}
