package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/grid"
	"kviz/tui/panes"
	"kviz/tui/safe"
	"kviz/tui/stage"
)

// plainLesson plays a lesson in lines of text: for screen readers, and for pipes. What the
// learner sees on the screen is told in sentences; a line that is typed answers, goes on, or is
// a command for the console.
type plainLesson struct {
	cfg     Config
	out     *lineWriter
	tells   *narrator
	look    lessons.Look // as it was told last
	told    toldStep
	waiting bool // for the beat to be over, then goes on
	running bool // a command is
	queue   []string
	history *view.History // as far as it has been told
	cells   []string      // what can be pointed at, in the order in which it was told
	ended   bool          // nothing more will be typed
}

// toldStep is what has been told of the present step.
type toldStep struct {
	verdict, hint string
	met           []bool
	known         bool // the scene is set, and the beat was told
	after, offer  string
	mistake       string
	done, card    bool
}

// plainHelp says what may be typed. Words of the lesson are single, so that everything else can
// be a command.
const plainHelp = `Type a number to answer, an empty line to go on, "wait" to go on as soon as the beat is over, "?" for a hint,
"run" for the command that is offered, "back", "skip", "again" to read the beat once more, "quit" to leave. Anything else is a command for the console.`

// lookEvery is how often the lesson is asked how it stands while nothing happens in the cluster:
// its scene may have been set.
const lookEvery = 50 * time.Millisecond

// runPlainLesson plays a lesson until it is left or what is typed ends.
func runPlainLesson(ctx context.Context, cfg Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := cfg.Output
	if out == nil {
		out = os.Stdout
	}
	p := &plainLesson{cfg: cfg, out: &lineWriter{out: out}, tells: newNarrator()}
	if cfg.Booting != nil && cfg.Cluster == nil {
		c, err := cfg.Booting(ctx, func(what string) { p.out.say("Starting the cluster: " + what + ".") })
		if err != nil {
			return fmt.Errorf("the cluster could not start: %w", err)
		}
		p.cfg.Cluster = c
	}
	if err := cfg.Lessons.Start(cfg.Lesson); err != nil {
		return err
	}
	p.out.say(plainHelp)
	group := safe.NewGroup(cancel)
	typed, ran := linesOf(ctx, group, cfg.Input), make(chan int)
	err := p.play(ctx, group, typed, ran)
	return errors.Join(err, crashOf(group), p.out.failed())
}

// play goes on until the lesson is left.
func (p *plainLesson) play(ctx context.Context, group *safe.Group, typed <-chan string, ran chan int) error {
	stream := p.cfg.History.Stream()
	changed, stop := stream.Notify()
	defer stop()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	p.history = view.NewHistory(stream)
	pos := stream.Oldest()
	for p.out.failed() == nil {
		pos = p.narrate(stream, pos)
		p.tell(p.cfg.Lessons.Look())
		if r := p.look.Recall; r != nil && r.Over {
			return p.leave()
		}
		if p.ended && len(p.queue) == 0 && !p.running && !p.waiting && p.told.known {
			return p.leave()
		}
		if p.next(ctx, group, ran) {
			return p.leave()
		}
		select {
		case line, ok := <-typed:
			if !ok {
				p.ended, typed = true, nil
				continue
			}
			p.queue = append(p.queue, line)
		case exit := <-ran:
			p.running = false
			if exit != 0 {
				p.out.say(fmt.Sprintf("The command ended with exit status %d.", exit))
			}
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// narrate tells what the picture would show of what has happened.
func (p *plainLesson) narrate(stream *trace.Stream, pos uint64) uint64 {
	events, next, _ := stream.Read(pos, 0)
	for _, e := range events {
		p.history.CatchUp(1)
		text := p.tells.line(e, p.history.Latest(), false)
		for _, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, "* ") && p.told.known {
				p.out.say(line)
			}
		}
	}
	return next
}

// next does what was typed, as far as it can be done now; it reports whether the learner
// leaves.
func (p *plainLesson) next(ctx context.Context, group *safe.Group, ran chan<- int) (leaves bool) {
	for p.told.known {
		if p.waiting {
			if !p.look.CanNext && !p.look.Finished {
				return false
			}
			p.waiting = false
			if p.look.CanNext {
				p.act("next")
			}
		}
		if len(p.queue) == 0 {
			return false
		}
		line := p.queue[0]
		behind := p.look.Beat != nil && p.look.Beat.Behind // what a command did may not be known yet
		if (p.running || behind) && !p.beside(line) {
			if b := p.look.Beat; p.running && !behind && b != nil && b.Mistake != "" { // the cluster stands, and the command with it
				p.queue = p.queue[1:]
				p.out.say(`A command waits for the cluster, which stands: "undo" or "skip" first. Not done: ` + line)
				continue
			}
			return false
		}
		p.queue = p.queue[1:]
		switch n, err := strconv.Atoi(line); {
		case err == nil && p.look.Beat != nil && p.look.Beat.Typed:
			p.act("number " + line)
		case err == nil && p.look.Beat != nil && p.look.Beat.Point != "" && n >= 1 && n <= len(p.cells):
			p.act("point " + strings.Join(append([]string{p.cells[n-1]}, p.cells...), " "))
		case err == nil && p.look.Ask != "" && !p.look.Answered:
			p.act("answer " + strconv.Itoa(n))
		case line == "quit":
			return true
		case err == nil && p.look.Beat != nil && p.look.Beat.AskSure:
			p.act("sure " + line)
		case line == "run" && p.look.Beat != nil && p.look.Beat.Offer != "":
			offer := p.look.Beat.Offer
			p.act("offered")
			p.exec(ctx, group, offer, ran)
		case line == "undo" && p.look.Beat != nil && p.look.Beat.Mistake != "":
			p.act("again")
		case line == "wait":
			p.waiting = true
		case line == "":
			p.act("next")
		case line == "?":
			p.act("hint")
		case line == "back":
			p.act("back")
		case line == "skip":
			p.act("reveal")
		case line == "again":
			p.told.known = false
			p.tell(p.cfg.Lessons.Look())
		default:
			p.exec(ctx, group, line, ran)
		}
	}
	return false
}

// beside reports whether a line can be done while a command runs: a beat may be over, and the
// cluster stand, before the command is answered.
func (p *plainLesson) beside(line string) bool {
	_, err := strconv.Atoi(line)
	return p.look.Beat != nil && (err == nil || slices.Contains([]string{"", "wait", "?", "back", "skip", "again", "undo", "quit"}, line))
}

// exec runs a command.
func (p *plainLesson) exec(ctx context.Context, group *safe.Group, line string, ran chan<- int) {
	p.running = true
	look := p.look
	group.Go(func() {
		streams := control.Streams{In: strings.NewReader(""), Out: p.out, Err: p.out, Source: "console"}
		if look.Offers(line) {
			streams.Within = look.Within
		}
		exit := p.cfg.Cluster.Exec(ctx, line, streams)
		select {
		case ran <- exit:
		case <-ctx.Done():
		}
	})
}

// act does something in the lesson, and tells what became of it.
func (p *plainLesson) act(action string) {
	if err := p.cfg.Lessons.Do(action); err != nil {
		p.out.say(err.Error())
	}
	p.tell(p.cfg.Lessons.Look())
}

// leave ends the lesson, whose cleanup runs behind.
func (p *plainLesson) leave() error {
	look := p.look
	switch {
	case look.Recall != nil && look.Recall.Over:
		p.out.say(fmt.Sprintf("%d of %d right. What was right comes back later, what was wrong tomorrow.", look.Recall.Right, look.Recall.Of))
		return nil
	case look.Finished:
		if look.Beat != nil && look.Card == nil {
			p.act("next")
		}
		p.out.say("The lesson is done.")
		return nil
	case p.ended:
		return fmt.Errorf("the input ended at beat %d of %d, which is not the end of the lesson", look.Step, look.Steps)
	}
	p.out.say(fmt.Sprintf("You leave the lesson at beat %d of %d; it goes on there next time.", look.Step, look.Steps))
	return nil
}

// tell tells what is new in a look.
func (p *plainLesson) tell(look lessons.Look) {
	if look.Step != p.look.Step || !p.told.known {
		p.told = toldStep{verdict: p.told.verdict} // that of a prediction is shown for two steps
	}
	p.look = look
	if look.Setting {
		p.told.known = false
		return
	}
	if !p.told.known {
		p.told = toldStep{known: true, met: make([]bool, len(look.Goals)), verdict: p.told.verdict}
		p.step(look)
	}
	for i, g := range look.Goals {
		if g.Met && !p.told.met[i] {
			p.out.say("Done: " + spoken(g.Say))
		}
		if !g.Met && p.told.met[i] {
			p.out.say("No longer so: " + spoken(g.Say))
		}
		p.told.met[i] = g.Met
	}
	if look.Verdict != "" && look.Verdict != p.told.verdict {
		p.told.verdict = look.Verdict
		p.out.say(spoken(look.Verdict))
	}
	if look.Hint != "" && look.Hint != p.told.hint {
		p.told.hint = look.Hint
		p.out.say(fmt.Sprintf("Hint %d of %d: %s", look.HintNo, look.HintsOf, spoken(look.Hint)))
	}
	p.beat(look)
	if look.Card != nil && !p.told.card {
		p.told.card = true
		p.card(look.Card)
		return
	}
	if done := look.CanNext && len(look.Goals) > 0 && look.Kind != lessons.Free; done && !p.told.done {
		p.told.done = true
		p.out.say("The beat is over. An empty line goes on.")
	}
}

// card tells what a run came to.
func (p *plainLesson) card(c *lessons.EndCard) {
	p.out.say("\nYour run:")
	for _, e := range c.Events {
		p.out.say(fmt.Sprintf("Event %s: %s.", e.ID, e.Say))
	}
	if c.Predictions > 0 {
		p.out.say(fmt.Sprintf("Predictions: %d of %d right.", c.Right, c.Predictions))
	}
	for _, title := range c.SureWrong {
		p.out.say("Sure and wrong: " + title)
	}
	if c.Again != "" {
		p.out.say(fmt.Sprintf("On %s %s back: kviz lesson recall.", c.Again, comeBack(c.Questions)))
	}
	for _, n := range c.Next {
		p.out.say(fmt.Sprintf("Next: kviz lesson start %s, %s: %s.", n.ID, n.Title, n.Why))
	}
}

func comeBack(questions int) string {
	if questions == 1 {
		return "one question comes"
	}
	return fmt.Sprintf("%d questions come", questions)
}

// beat tells what is new in a beat: what happened, and what is said of it, what is offered, and
// what went wrong.
func (p *plainLesson) beat(look lessons.Look) {
	b := look.Beat
	if b == nil {
		return
	}
	if b.After != "" && b.After != p.told.after {
		p.told.after = b.After
		if b.Event != nil && !b.Still && !b.Acts {
			p.out.say(fmt.Sprintf("Event %s: %s.", b.Event.ID, view.Explain(b.Event)))
		}
		p.out.say(spoken(b.After))
	}
	if b.Mistake != "" && b.Mistake != p.told.mistake {
		p.out.say("Not what the beat needs: " + b.Mistake + `. "undo" sets the scene again, up to the beginning of this beat; "skip" goes on.`)
	}
	p.told.mistake = b.Mistake
	if b.Offer != "" && b.Offer != p.told.offer {
		p.out.say(`Offered ("run" runs it): ` + b.Offer)
	}
	p.told.offer = b.Offer
}

// step tells a step from its title to its question.
func (p *plainLesson) step(look lessons.Look) {
	if r := look.Recall; r != nil {
		p.out.say(fmt.Sprintf("\nQuestion %d of %d, of %s %s (%s)", r.No, r.Of, look.ID, look.Title, look.Kind))
	} else {
		p.out.say(fmt.Sprintf("\nBeat %d of %d (%s)", look.Step, look.Steps, look.Kind))
	}
	if b := look.Beat; b != nil {
		p.out.say(b.Title + "\n\n" + spoken(b.Before))
		if look.Ask != "" {
			p.out.say("\n" + spoken(look.Ask))
		}
		if b.Typed {
			p.out.say("The answer is a number.")
		}
		p.pointAt(look)
	} else {
		p.out.say(strings.ReplaceAll(spoken(look.Text), "\n\n\n\n", "\n\n")) // a step may have a question and no text
	}
	if len(look.Goals) > 0 {
		p.out.say("\nWhat to do:")
		for _, g := range look.Goals {
			p.out.say("- " + spoken(g.Say))
		}
	}
	for i, c := range look.Choices {
		p.out.say(fmt.Sprintf("%d: %s", i+1, spoken(c.Text)))
	}
	for _, m := range look.Items {
		p.out.say("To be labelled: " + spoken(m.Text))
	}
}

// pointAt lists what can be pointed at: who cannot see the picture answers with a number.
func (p *plainLesson) pointAt(look lessons.Look) {
	p.cells = nil
	if look.Beat.Point == "" {
		return
	}
	makers := p.cfg.panes
	if makers == nil {
		makers = panes.All
	}
	p.cells = stage.CellsOf(makers, look, p.history, plainCols, plainRows)
	for i, name := range p.cells {
		p.out.say(fmt.Sprintf("%d: %s", i+1, strings.Replace(name, "/", " ", 1)))
	}
}

// The screen on which it is found out what there is to point at.
const plainCols, plainRows = 120, 40

// spoken is a text of a lesson without its marks, which a screen reader would read out.
func spoken(text string) string { return strings.NewReplacer("**", "", "`", "").Replace(text) }

// lineWriter writes whole lines, of the lesson and of the command that runs beside it, and keeps
// the first failure: who reads may have gone.
type lineWriter struct {
	mu  sync.Mutex
	out io.Writer
	err error
}

// Write is what a command prints.
func (w *lineWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.out.Write(b)
	w.err = errors.Join(w.err, err)
	return n, err
}

// say writes one or more lines, without what a terminal would take for its own.
func (w *lineWriter) say(text string) {
	for _, line := range strings.Split(text, "\n") {
		_, _ = io.WriteString(w, grid.Clean(line)+"\n") // failed has it
	}
}

func (w *lineWriter) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return fmt.Errorf("writing a sentence: %w", w.err)
	}
	return nil
}
