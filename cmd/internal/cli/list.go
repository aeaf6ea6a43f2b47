package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// listing describes one kind of list: what narrows it besides the options of its
// command, and how it is shown. Nil functions leave their option out.
type listing[T any] struct {
	key      string              // the list's name in the document
	id       func(T) string      // what --format ids prints
	at       func(T) time.Time   // the time of --since and --until
	when     string              // what that time is, such as "changed"
	by       func(T) []string    // the actors of --by
	who      string              // what they did, such as "work on it"
	status   func(T) string      // the status of --status
	statuses []string            // its words
	text     func(T) []string    // what --text looks into
	table    func(*printer, []T) // for people
}

// options are those of every list, behind those of its own.
func (s listing[T]) options(own ...*option) []*option {
	out := own
	if s.status != nil {
		out = append(out, &option{name: "status", kind: listKind, oneOf: s.statuses, usage: "only this `STATUS`, one of " + strings.Join(s.statuses, ", ") + "; may be repeated"})
	}
	if s.by != nil {
		out = append(out, &option{name: "by", ids: "actor", usage: "only where this actor `ID` " + s.who})
	}
	if s.at != nil {
		out = append(out, sinceOption(s.when), untilOption(s.when))
	}
	if s.text != nil {
		out = append(out, &option{name: "text", usage: "only what holds these `WORDS`, in capitals or not"})
	}
	return append(out,
		&option{name: "sort", usage: "order by this `FIELD` of the JSON document, one that holds a single value: " + strings.Join(sortable[T](), ", ")},
		&option{name: "reverse", kind: truthKind, usage: "turn the order round"},
		&option{name: "limit", kind: countKind, usage: "at most the first `N`; default: all"},
		listFormatOption())
}

func sinceOption(what string) *option {
	return &option{name: "since", kind: momentKind, usage: "only what was " + what + " at this `TIME` or later: 2h or 7d ago, 2006-01-02, or 2006-01-02T15:04:05Z"}
}

func untilOption(what string) *option {
	return &option{name: "until", kind: momentKind, usage: "only what was " + what + " before this `TIME`"}
}

// answer narrows, orders and cuts the rows that the ledger returned, and prints them
// in the format that was asked for.
func (s listing[T]) answer(ctx context.Context, in *call, l *ledger.Ledger, rows []T) error {
	if err := s.check(in); err != nil {
		return err
	}
	kept := slices.DeleteFunc(append([]T{}, rows...), func(r T) bool { return !s.fits(in, r) })
	if err := s.knownActor(ctx, in, l, kept); err != nil {
		return err
	}
	if field := in.text("sort"); field != "" {
		if err := sortRows(kept, field); err != nil {
			return err
		}
	}
	if in.on("reverse") {
		slices.Reverse(kept)
	}
	total := len(kept)
	if n := in.whole("limit"); n > 0 && n < total {
		kept = kept[:n]
	}
	return s.present(in, kept, fields{s.key: kept, "total": total})
}

// check refuses words that no row could fit, before the rows are looked at.
func (s listing[T]) check(in *call) error {
	if s.at != nil {
		if err := in.window(); err != nil {
			return err
		}
	}
	if s.status == nil {
		return nil
	}
	for _, word := range in.list("status") {
		if !slices.Contains(s.statuses, word) {
			e := models.Invalid("status", "%q is none of %s", word, strings.Join(s.statuses, ", ")).With("allowed", s.statuses)
			if near := models.Nearest(word, s.statuses); near != "" {
				e = e.Hint("did you mean %s?", near)
			}
			return e
		}
	}
	return nil
}

// fits tells whether a row passes every filter that was given.
func (s listing[T]) fits(in *call, r T) bool {
	if s.status != nil {
		if wanted := in.list("status"); len(wanted) > 0 && !slices.Contains(wanted, s.status(r)) {
			return false
		}
	}
	if s.by != nil && in.text("by") != "" && !slices.Contains(s.by(r), in.text("by")) {
		return false
	}
	if s.at != nil && !in.between(s.at(r)) {
		return false
	}
	return s.text == nil || holds(s.text(r), in.text("text"))
}

// window refuses --since and --until between which nothing can lie.
func (in *call) window() error {
	since, until := in.moment("since"), in.moment("until")
	if since.IsZero() || until.IsZero() || since.Before(until) {
		return nil
	}
	return models.Invalid("until", "%q must be later than --since %q; nothing lies between them", in.raw("until"), in.raw("since")).
		Hint("exchange them: --since %s --until %s", shellWord(in.raw("until")), shellWord(in.raw("since")))
}

// between tells whether a time lies within --since and --until.
func (in *call) between(t time.Time) bool {
	since, until := in.moment("since"), in.moment("until")
	return (since.IsZero() || !t.Before(since)) && (until.IsZero() || t.Before(until))
}

// holds tells whether one of the texts holds the words.
func holds(texts []string, words string) bool {
	words = strings.ToLower(words)
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(strings.ToLower(t), words) })
}

// knownActor refuses --by with an actor of whom neither a row nor the ledger knows. A
// worker that a row names may not have been seen yet.
func (s listing[T]) knownActor(ctx context.Context, in *call, l *ledger.Ledger, kept []T) error {
	if s.by == nil || in.text("by") == "" || len(kept) > 0 {
		return nil
	}
	_, err := l.Actor(ctx, in.text("by"))
	return err
}

// present shows rows in the format that was asked for.
func (s listing[T]) present(in *call, rows []T, doc fields) error {
	f, err := in.listFormat()
	if err != nil {
		return err
	}
	switch f.word {
	case formatText:
		return in.answer(doc, func(p *printer) { s.table(p, rows) })
	case formatIDs:
		return in.lines(len(rows), func(i int) (string, error) { return clean(s.id(rows[i])), nil })
	case formatJSONL:
		return in.lines(len(rows), func(i int) (string, error) { return templateJSON(rows[i]) })
	}
	return in.lines(len(rows), func(i int) (string, error) { return f.render(rows[i]) })
}
