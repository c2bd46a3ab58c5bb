package lessons_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/assets"
	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/raftstore/steady"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/panes"
	"kviz/tui/stage"
)

// Pupils go through lessons on the stage, by keys. Some lessons are in every test run; with KVIZ_PUPILS=all each pupil
// takes all of them:
//
//	KVIZ_PUPILS=all go test ./lessons -run Pupil -timeout 1h

// TestAPupilWhoAlwaysPressesOne answers every question with the same key, and does what is offered. They come to the
// end, and are not right everywhere: where the right answer stands is not always the same.
func TestAPupilWhoAlwaysPressesOne(t *testing.T) {
	taught(t, []string{"L01", "L06", "L09"}, func(p *pupil) {
		p.answers, p.does = p.first, p.offered
		p.finishes()
		predictions, right := 0, 0
		for _, mark := range p.progress.Lessons[p.lesson.ID].Beats {
			if mark.Right != nil {
				predictions++
				if *mark.Right {
					right++
				}
			}
		}
		p.t.Logf("right in %d of %d", right, predictions)
		if predictions >= 4 && right == predictions {
			p.t.Errorf("the first answer is right in all %d predictions", predictions)
		}
	})
}

// TestAPupilWhoErrsEverywhere gives wrong answers, breaks something else than each beat wants, and takes that back;
// then what is offered is run, in every other beat by kviz. Wrong answers stay wrong, and each undo brings a cluster
// where the beat can be done.
func TestAPupilWhoErrsEverywhere(t *testing.T) {
	taught(t, []string{"L01", "L08", "L17"}, func(p *pupil) {
		p.answers, p.does = p.wrong, func(look lessons.Look) {
			if !p.erred[look.Beat.ID] {
				p.erred[look.Beat.ID] = true
				p.breaks(look)
				return
			}
			if len(p.erred)%2 == 0 && !p.helped[look.Beat.ID] {
				p.helped[look.Beat.ID] = true
				p.press("s")
				return
			}
			p.offered(look)
		}
		p.finishes()
		for beat, n := range p.asked {
			if n > 1 {
				p.t.Errorf("beat %s asks %d times", beat, n)
			}
			if mark := p.progress.Lessons[p.lesson.ID].Beats[beat]; mark.Right != nil && *mark.Right {
				p.t.Errorf("the wrong answer of beat %s counts as right", beat)
			}
		}
		p.t.Logf("wrong answers: %d, undone: %d, of these by setting the scene again: %d", len(p.asked), len(p.erred), p.again)
	})
}

// taught has a pupil take some lessons, or all, each on a cluster of its own.
func taught(t *testing.T, some []string, takes func(p *pupil)) {
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if os.Getenv("KVIZ_PUPILS") != "all" && !slices.Contains(some, l.ID) {
			continue
		}
		t.Run(l.ID, func(t *testing.T) {
			if l.Trials()[0].Tools {
				steady.RealTime(t, "etcdctl and etcdutl are processes")
				takes(begins(t, l, all))
				return
			}
			t.Parallel()
			steady.Bubble(t, func(t *testing.T) { takes(begins(t, l, all)) })
		})
	}
}

// pupil takes a lesson on the stage, at 80x24.
type pupil struct {
	t        *testing.T
	ctx      context.Context
	lesson   *lessons.Lesson
	progress *lessons.Progress
	player   *lessons.Player
	cluster  inBubble
	history  *view.History
	stage    *stage.Stage
	grid     *grid.Grid
	last     stage.Command
	running  chan stage.Command // the command that runs; nil for none

	answers       func(look lessons.Look)
	does          func(look lessons.Look) // in a beat that offers something
	asked         map[string]int          // by beat: wrong answers given
	erred, helped map[string]bool
	again         int
}

func begins(t *testing.T, l *lessons.Lesson, all []*lessons.Lesson) *pupil {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	c, err := cluster.Boot(ctx, cluster.Config{Seed: 1, NoSync: true, Members: l.Scene.Members, Nodes: l.Scene.Nodes, Servers: l.Scene.APIServers})
	if err == nil {
		err = c.WaitReady(ctx)
	}
	if err == nil {
		err = c.Speed(10)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	progress := lessons.NewProgress(time.Now)
	p := &pupil{
		t: t, ctx: ctx, lesson: l, progress: progress, player: lessons.NewPlayer(inBubble{c}, all, progress), cluster: inBubble{c},
		history: view.NewHistory(c.Trace()), stage: stage.New(panes.All), grid: grid.New(80, 24), asked: map[string]int{}, erred: map[string]bool{}, helped: map[string]bool{},
	}
	t.Cleanup(p.player.Close)
	if err := p.player.Start(l.ID); err != nil {
		t.Fatal(err)
	}
	return p
}

// looks brings the screen up to date, and is what it shows.
func (p *pupil) looks() lessons.Look {
	p.t.Helper()
	if p.running != nil {
		select {
		case p.last = <-p.running:
			p.running = nil
		default:
		}
	}
	look := p.player.Look()
	if look.Trouble != "" {
		p.t.Fatalf("step %d: %s", look.Step, look.Trouble)
	}
	p.history.CatchUp(0)
	p.stage.Update(look, p.history)
	return look
}

// draws draws the screen: keys are pressed by somebody who has seen it.
func (p *pupil) draws() string {
	p.stage.Draw(p.grid, stage.Around{Console: stage.Console{Last: p.last}})
	return p.grid.Plane()
}

// finishes goes on until the lesson is over; a beat in which nothing more can be done is a dead end.
func (p *pupil) finishes() {
	p.t.Helper()
	beat, since, waits := uint64(0), time.Now(), "" // waits is what the screen showed when there was no key to press
	for {
		look := p.looks()
		b := look.Beat
		if look.Card != nil {
			return
		}
		if b != nil && b.Version != beat {
			beat, since = b.Version, time.Now()
		}
		if time.Since(since) > steady.Patience(p.t) {
			p.t.Fatalf("the beat is a dead end:\n%s", p.draws())
		}
		if b != nil && !b.Behind {
			is := fmt.Sprint(b.Version, b.Stopped, b.Offer, b.Late, b.Mistake, b.AskSure, look.Ask, look.Answered, look.CanNext, p.running != nil)
			switch {
			case is == waits:
			case p.moves(look, p.draws()):
				waits = ""
			default:
				waits = is
			}
			p.stage.Tick(aWhile)
			if does := p.stage.Does(); does != nil {
				p.perform(does)
			}
		}
		time.Sleep(aWhile)
	}
}

// aWhile passes between two looks of a pupil.
const aWhile = 20 * time.Millisecond

// moves presses the key that the screen asks for, and reports whether there was one.
func (p *pupil) moves(look lessons.Look, screen string) bool {
	b := look.Beat
	switch {
	case strings.Contains(screen, "↻ shows"):
		p.press("space")
	case b.AskSure:
		p.press("1")
	case look.Ask != "" && !look.Answered:
		p.answers(look)
	case b.Mistake != "":
		p.press("u")
	case look.CanNext:
		p.press("space")
	case b.Offer != "" && p.running == nil && !look.CanNext && !strings.Contains(screen, "kviz types it"):
		p.does(look)
	case b.Late && p.running == nil:
		p.press("space")
	default:
		return false
	}
	return true
}

// press presses a key and does what it stands for.
func (p *pupil) press(name string) {
	p.t.Helper()
	k := tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
	switch name {
	case "enter":
		k = tea.KeyPressMsg{Code: tea.KeyEnter}
	case "space":
		k = tea.KeyPressMsg{Code: ' ', Text: " "}
	}
	p.perform(p.stage.Key(k))
}

func (p *pupil) perform(does action.Action) {
	p.t.Helper()
	switch does := does.(type) {
	case action.Lesson:
		if err := p.player.Do(string(does)); err != nil {
			p.t.Fatalf("%s: %v:\n%s", does, err, p.draws())
		}
	case action.Offered:
		look := p.player.Look()
		if look.Beat == nil || look.Beat.Offer != string(does) || p.running != nil {
			return
		}
		p.types(p.lesson.Words+"\n", string(does))
		if err := p.player.Do("offered"); err != nil {
			p.t.Fatal(err)
		}
	case action.Undo:
		p.undoes(does.At)
	}
}

// types types a line into the console.
func (p *pupil) types(functions, line string) {
	p.last = stage.Command{Line: line, Running: true}
	done := make(chan stage.Command, 1)
	p.running = done
	c := p.cluster
	go func() {
		var out strings.Builder
		exit := c.Exec(p.ctx, functions+line, control.Streams{In: strings.NewReader(""), Out: &out, Err: &out, Source: "console"})
		done <- stage.Command{Line: line, Exit: exit, Said: out.String()}
	}()
}

// first gives the first answer that can be given.
func (p *pupil) first(look lessons.Look) {
	switch {
	case look.Beat.Typed:
		p.press("1")
		p.press("enter")
	case look.Beat.Point != "":
		p.press("enter")
	case look.Form == lessons.Order:
		p.press(fmt.Sprint(1 + slices.IndexFunc(look.Choices, func(c lessons.ChoiceLook) bool { return c.Place == 0 })))
	default:
		p.press("1")
	}
}

// wrong gives an answer that is not marked as right; what has no marked answer is answered with the first.
func (p *pupil) wrong(look lessons.Look) {
	q := p.lesson.Steps[look.Step-1].Question
	named := slices.ContainsFunc(q.Choices, func(o *lessons.Choice) bool { return strings.Contains(o.Text, "{") }) // it is shown otherwise
	if q.Form() != lessons.OneOf || q.Varies || named {
		p.first(look)
		return
	}
	for i, c := range look.Choices {
		right := slices.ContainsFunc(q.Choices, func(o *lessons.Choice) bool { return o.Right && o.Text == c.Text })
		if !right {
			p.asked[look.Beat.ID]++
			p.press(fmt.Sprint(i + 1))
			return
		}
	}
	p.t.Fatalf("no answer is wrong:\n%s", p.draws())
}

// offered runs what is offered.
func (p *pupil) offered(lessons.Look) { p.press("enter") }

// breaks breaks something that the beat does not offer to break, and takes it back.
func (p *pupil) breaks(look lessons.Look) {
	p.t.Helper()
	if look.Kind == lessons.Free {
		return
	}
	line := ""
	for _, line = range []string{"kviz fault crash scheduler", "kviz fault stop registry", "kviz fault stop kubelet/node-2"} {
		if !slices.ContainsFunc(look.Beat.Does, func(offer string) bool { return strings.Contains(offer, line) }) {
			break
		}
	}
	version := look.Beat.Version
	p.types("", line)
	p.until("it is broken, and can be undone", func(l lessons.Look) bool {
		return p.running == nil && l.Beat != nil && !l.Beat.Behind && !l.Beat.Undo.IsZero()
	})
	p.draws()
	p.press("u")
	after := p.until("the beat is there again", func(l lessons.Look) bool { return l.Beat != nil && l.Beat.Version != version })
	if after.Beat.ID != look.Beat.ID || after.Beat.Mistake != "" {
		p.t.Errorf("after %q and undo in beat %s it stands at %s, and says %q", line, look.Beat.ID, after.Beat.ID, after.Beat.Mistake)
	}
}

// undoes takes back what was done last, as the explorer does: the run is run again up to before it; where that cannot
// be, the scene is set again.
func (p *pupil) undoes(at trace.ID) {
	p.t.Helper()
	if err := p.forks(at); err != nil {
		p.again++
		if err := errors.Join(p.cluster.Resume(), p.player.Do("again")); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *pupil) forks(at trace.ID) error {
	if err := p.cluster.Pause(); err != nil {
		return err
	}
	var past []*trace.Event
	for next := uint64(0); ; {
		events, after, lost := p.cluster.Trace().Read(next, 4096)
		if lost > 0 {
			return errors.New("events have left memory")
		}
		if len(events) == 0 {
			break
		}
		past, next = append(past, events...), after
	}
	c, err := cluster.Fork(p.ctx, past, cluster.ForkConfig{Parent: "the pupil's run", At: at})
	if err != nil {
		return err
	}
	p.t.Cleanup(func() { c.Close() })
	if err := p.player.Undone(inBubble{c}); err != nil {
		return err
	}
	p.cluster, p.history, p.stage = inBubble{c}, view.NewHistory(c.Trace()), stage.New(panes.All)
	return nil
}

// until looks until something holds.
func (p *pupil) until(what string, holds func(lessons.Look) bool) (look lessons.Look) {
	p.t.Helper()
	steady.Await(p.t, what, func() error {
		if look = p.looks(); holds(look) {
			return nil
		}
		return errors.New(p.draws())
	})
	return look
}
