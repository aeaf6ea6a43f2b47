package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"coxswain/models"
	"coxswain/worker"
)

// follow turns the loops on, shows events until interrupted, and leaves them as
// they were.
func (r *loops) follow(ctx context.Context) error {
	on, err := r.turnOn(ctx)
	if err != nil {
		return errors.Join(err, r.leave(ctx))
	}
	r.note("loop is on for %s; Ctrl-C turns it off", strings.Join(on, ", "))
	r.noteHeld()
	f := newFollower(r.call, r.ledger, on, r.since)
	err = f.run(ctx, func() (bool, error) { return false, errors.Join(r.needWorker(ctx), r.reload(ctx)) })
	if offErr := r.leave(ctx); err != nil || offErr != nil {
		return errors.Join(err, offErr)
	}
	return r.answer(fields{"teams": on, "events": f.seen}, func(p *printer) {
		if off := r.off(); len(off) > 0 {
			p.line("loop is off for %s", strings.Join(off, ", "))
		}
	})
}

// remember keeps what this command wrote for a team, and what it replaced first.
func (r *loops) remember(i int, written models.Team, replaced models.LoopSettings) {
	if r.before == nil {
		r.before = map[string]models.LoopSettings{}
	}
	if _, known := r.before[written.ID]; !known {
		r.before[written.ID] = replaced
	}
	r.teams[i] = written
}

// turnOn switches the loops on, for as long as this command lives, and returns their
// teams. A loop that is on without an owner stays on without one.
func (r *loops) turnOn(ctx context.Context) ([]string, error) {
	paths, err := r.paths()
	if err != nil {
		return nil, err
	}
	if r.owner, err = worker.OwnLoops(paths.StateDir); err != nil {
		return nil, err
	}
	if r.config, err = r.followConfig(); err != nil {
		return nil, err
	}
	if r.since, err = newestEvent(ctx, r.ledger); err != nil {
		return nil, err
	}
	var ids []string
	for i, t := range r.teams {
		now, err := r.ledger.Team(ctx, t.ID)
		if err != nil {
			return ids, err
		}
		s := now.Loop
		if !s.Enabled || s.Owner != "" {
			s.Owner = r.owner.ID
		}
		s.Enabled = true
		team, previous, err := r.ledger.ConfigureLoop(ctx, r.system(), t.ID, s)
		if err != nil {
			return ids, err
		}
		r.remember(i, team, previous)
		ids = append(ids, t.ID)
	}
	return ids, nil
}

// leaveWait is how long the way out may take.
const leaveWait = 10 * time.Second

// leave switches off the loops that were off before, and gives the others back
// the settings that they had; also after an interrupt.
func (r *loops) leave(ctx context.Context) error {
	err := r.each(ctx, func(s, before models.LoopSettings) (models.LoopSettings, bool) {
		if before = r.current(before); before.Enabled {
			return before, true
		}
		s.Enabled, s.Owner = false, ""
		return s, true
	})
	if r.owner != nil {
		err = errors.Join(err, r.owner.Release())
		r.owner = nil
	}
	return err
}

// giveBack restores only the loops that were on before; the settings of the others
// stay for the next command.
func (r *loops) giveBack(ctx context.Context) error {
	return r.each(ctx, func(_, before models.LoopSettings) (models.LoopSettings, bool) {
		before = r.current(before)
		return before, before.Enabled
	})
}

// each writes other settings for the teams that this command wrote to and nobody
// has since, who would decide about the loop now.
func (r *loops) each(ctx context.Context, change func(now, before models.LoopSettings) (models.LoopSettings, bool)) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveWait)
	defer cancel()
	var failed error
	for i, t := range r.teams {
		before, written := r.before[t.ID]
		if !written {
			continue
		}
		now, err := r.ledger.Team(ctx, t.ID)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		s, wanted := change(now.Loop, before)
		if !wanted || s == now.Loop || now.Loop != t.Loop {
			continue
		}
		team, _, err := r.ledger.ConfigureLoop(ctx, r.system(), t.ID, s)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		r.teams[i] = team
		if team.Loop.Enabled {
			r.note("loop of %s goes on as before (set by %s)", t.ID, before.SetBy)
		}
	}
	return failed
}

// noteHeld says which loops a person holds although they are on.
func (r *loops) noteHeld() {
	for _, t := range r.teams {
		if t.Pause != nil {
			r.note("team %s is %s, so that nothing new starts. Go on: %s", t.ID, t.Pause.Why(), r.next(strings.TrimPrefix(t.Pause.Next(t.ID), "cox ")))
		}
	}
}

// off are the teams whose loop this command left switched off.
func (r *loops) off() []string {
	var ids []string
	for _, t := range r.teams {
		if !t.Loop.Enabled {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// newlyOff are the teams whose loop somebody else has switched off; each time is
// told once.
func (r *loops) newlyOff(ctx context.Context) ([]models.Team, error) {
	var off []models.Team
	for _, t := range r.teams {
		now, err := r.ledger.Team(ctx, t.ID)
		if err != nil {
			return nil, err
		}
		if now.Loop.Enabled || now.Loop == t.Loop || r.told[t.ID] == now.Version {
			continue
		}
		if r.told == nil {
			r.told = map[string]int{}
		}
		r.told[t.ID] = now.Version
		off = append(off, now)
	}
	return off, nil
}
