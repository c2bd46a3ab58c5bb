package own

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui"
	"kviz/tui/class"
	"kviz/tui/safe"
)

// run is a private cluster, and how far its student is.
type run struct {
	cluster Cluster
	limited *Limited
	player  Player // nil without a lesson
	history *view.History
	says    string                // what the student has to know of it
	typed   string                // what stands in the console
	rests   bool                  // it was made to stand when its student left
	before  map[string]class.Work // of its student, when they came into it first
	meter   meter
	drop    *time.Timer // ends it while its student is not there
}

// newRun takes over a cluster, and ends it if there can be no run in it.
func newRun(c Cluster, limits Limits, branch func(lessons.Cluster) (Player, error)) (*run, error) {
	l, err := NewLimited(c, limits)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	one := &run{cluster: c, limited: l, history: view.NewHistory(c.Trace()), meter: meter{most: limits.Processor}}
	one.history.CatchUp(0)
	l.latest = one.history.Latest
	if branch != nil {
		if one.player, err = branch(l.Scene()); err != nil {
			return nil, errors.Join(err, one.close())
		}
		one.history.CatchUp(0) // with the scene, where the player has set it
	}
	c.Trace().SetLimit(limits.Events) // the run before it has been read, by history and player
	return one, nil
}

// close ends the cluster and takes its folder away.
func (o *run) close() error {
	if o.player != nil {
		o.player.Close()
	}
	return errors.Join(o.cluster.Close(), o.limited.Close())
}

// end is close of a run that counts.
func (r *Runs) end(one *run) error {
	err := one.close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.there--
	return err
}

// keep has a run stand until its student comes again, or too long; false: it cannot be kept.
func (r *Runs) keep(name string, one *run) bool {
	one.rests = !one.cluster.Clock().Paused
	if one.rests && one.cluster.Pause() != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.kept[name] != nil {
		return false
	}
	r.kept[name] = one
	one.drop = time.AfterFunc(r.limits.Keep, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.kept[name] == one && !r.closed {
			delete(r.kept, name)
			r.group.Go(func() { _ = r.end(one) }) // it would be said to nobody
		}
	})
	return true
}

// take gives the run that a student has left; nil if there is none.
func (r *Runs) take(name string) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.kept[name]
	if one == nil {
		return nil
	}
	delete(r.kept, name)
	one.drop.Stop()
	if one.rests {
		_ = one.cluster.Resume() // one that has ended says so on its screen
	}
	one.says = "your run, as you left it"
	return one
}

// explore shows a run until its student goes back. It stays where they were called, or their terminal is gone.
func (r *Runs) explore(ctx context.Context, t terminal, name string, one *run) (stays bool, err error) {
	seen, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(r.ctx, stop)() // the class has ended
	input := t.input(seen)
	w, h := t.size()
	messages := make(chan tea.Msg)
	tell := func(msg tea.Msg) {
		select {
		case messages <- msg:
		case <-seen.Done():
		}
	}
	group := safe.NewGroup(stop)
	group.Go(func() { t.sizes(seen, tell) })
	group.Go(func() { r.watch(seen, name, one, tell) })
	group.Go(func() { r.calls(seen, tell) })
	group.Go(func() {
		if one.says != "" {
			tell(tui.Told{Text: one.says})
		}
	})
	host := r.cfg.Screens.Begin(name)
	defer host.End()
	cfg := tui.Config{
		History: one.history, Cluster: one.limited, Theme: r.cfg.Theme, Remote: true, Leaves: "back to the class",
		Input: input, Output: t.out, Environ: t.environ, Size: [2]int{w, h}, Typed: &one.typed,
		Messages: messages, Options: []tea.ProgramOption{ends(input)},
		Wrap: func(e *tui.Explorer) tea.Model { return host.Wrap(e) },
	}
	if one.player != nil {
		cfg.Lessons, cfg.Taken = one.player, true
	}
	err = tui.Run(seen, cfg)
	cut := ctx.Err() != nil
	stop()
	group.Wait()
	r.report(name, one) // one who goes as soon as it is done has done it
	if crash := group.Crash(); crash != nil && err == nil {
		err = crash
	}
	if errors.Is(err, tui.ErrCalled) {
		return true, nil
	}
	return cut, err
}

// calls tells when the teacher calls everybody back.
func (r *Runs) calls(ctx context.Context, tell func(tea.Msg)) {
	now := r.cfg.Room.State()
	called := now.Called
	if now.Pinned { // the student was on the way as everybody was called back
		called = 0
	}
	for {
		_, room := r.cfg.Changes()
		if now := r.cfg.Room.State().Called; now != called {
			called = now
			tell(tui.Called{By: r.cfg.Teacher, Text: fmt.Sprintf("Your run stays as it is for %s, with what you have typed: F in the class comes back to it.", inWords(r.limits.Keep))})
			continue
		}
		select {
		case <-room:
		case <-ctx.Done():
			return
		}
	}
}

func inWords(d time.Duration) string {
	if d%time.Minute == 0 {
		return fmt.Sprintf("%d minutes", int(d/time.Minute))
	}
	return d.String()
}

// looks is how often it is looked how far a student is.
const looks = time.Second / 2

// watch tells the class how far a student is, and bounds what their cluster spends.
func (r *Runs) watch(ctx context.Context, name string, one *run, tell func(tea.Msg)) {
	every := time.NewTicker(looks)
	defer every.Stop()
	for {
		r.report(name, one)
		if says := one.spends(time.Now()); says != "" {
			tell(tui.Told{Text: says})
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}

// report tells the class how far a student is.
func (r *Runs) report(name string, one *run) {
	if one.player == nil {
		r.cfg.Room.Progress(name, r.cfg.Room.State().Beat, 0, 0, "", false)
		return
	}
	look := one.player.Look()
	if look.Beat == nil {
		return
	}
	done := 0
	for _, g := range look.Goals {
		if g.Met {
			done++
		}
	}
	miss, broken := look.Beat.Miss, look.Beat.Mistake != ""
	if broken {
		miss = look.Beat.Mistake
	}
	r.cfg.Room.Progress(name, look.Beat.ID, done, len(look.Goals), class.Short(miss, 200), broken)
	r.reportHelp(name, one)
}

// reportHelp tells the class which help a student has taken, in this run and in those before it.
func (r *Runs) reportHelp(name string, one *run) {
	if one.before == nil {
		seat, _ := r.cfg.Room.State().Seat(name)
		if one.before = seat.Work; one.before == nil {
			one.before = map[string]class.Work{}
		}
	}
	helped := one.player.Helped()
	for _, beat := range slices.Sorted(maps.Keys(helped)) {
		h, was := helped[beat], one.before[beat]
		r.cfg.Room.Help(name, beat, was.Hints+h.Hints, was.Shown+h.Shown, was.Undone+h.Undone)
	}
}
