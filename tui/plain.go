package tui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/narrate"
	"kviz/tui/safe"
	"kviz/tui/words"
)

// plain is the explorer in lines of text, for pipes and screen readers: no cursor movement, no colour, the most important words
// first. It tells what the explanation line of the screen would tell, each sentence for as long as it takes to read it; with
// [Config.PlainAll] every event. A line that is typed is a command for the console.
type plain struct {
	cfg     Config
	out     *lineWriter
	history *view.History
	pos     uint64 // of the next event to be told
	teller  narrate.Teller
	line    narrate.Sentence // that was written last
	all     *narrator        // where every event is written
	queue   []string         // lines that were typed and not run yet
	running bool             // one is
	over    bool             // nothing more will be typed
}

// plainTick is how often it is looked whether there is time for another sentence.
const plainTick = 100 * time.Millisecond

// runPlain tells until ctx ends, the person leaves, or what is typed ends and has been run.
func runPlain(ctx context.Context, cfg Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &plain{cfg: cfg, out: &lineWriter{out: cfg.Output}, history: cfg.History}
	if cfg.Output == nil {
		p.out.out = os.Stdout
	}
	stream := cfg.History.Stream()
	p.pos = stream.Oldest()
	if cfg.Following { // somebody else folds it, further than what is written
		p.history = view.NewHistory(stream)
	}
	if cfg.PlainAll {
		p.all = newNarrator()
	}
	if _, pos, ok := stream.At(cfg.Moment); ok && pos > p.pos && !cfg.Following { // what was before it is not told
		p.history.CatchUp(int(pos - p.pos))
		p.pos = pos
	}
	if cfg.Recording != "" {
		for p.catch(stream) > 0 {
		}
		return p.out.failed()
	}
	group := safe.NewGroup(cancel)
	booted := make(chan booted, 1)
	if cfg.Booting != nil && cfg.Cluster == nil {
		group.Go(func() { booted <- boot(ctx, cfg) })
	}
	typed := linesOf(ctx, group, cfg.Input)
	err := p.play(ctx, group, stream, typed, booted)
	return errors.Join(err, crashOf(group), p.out.failed())
}

// booted is a cluster that has started, or why it could not.
type booted struct {
	cluster Cluster
	err     error
}

func boot(ctx context.Context, cfg Config) booted {
	c, err := cfg.Booting(ctx, func(string) {})
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("the cluster could not start: %w", err)
	}
	return booted{c, err}
}

// linesOf are the lines that are typed; the channel is closed where they end.
func linesOf(ctx context.Context, group *safe.Group, in io.Reader) <-chan string {
	if in == nil {
		in = os.Stdin
	}
	typed := make(chan string)
	group.Go(func() {
		defer close(typed)
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			select {
			case typed <- strings.TrimSpace(lines.Text()):
			case <-ctx.Done():
				return
			}
		}
	})
	return typed
}

// play tells what happens and runs what is typed.
func (p *plain) play(ctx context.Context, group *safe.Group, stream *trace.Stream, typed <-chan string, up <-chan booted) error {
	changed, stop := stream.Notify()
	defer stop()
	tick := time.NewTicker(plainTick)
	defer tick.Stop()
	ran := make(chan int)
	for p.out.failed() == nil {
		p.catch(stream)
		if p.idle() && len(p.queue) > 0 {
			line := p.queue[0]
			p.queue = p.queue[1:]
			p.rest() // it happened before
			if line == "quit" || line == "exit" {
				return nil
			}
			p.exec(ctx, group, line, ran)
		}
		if p.over && p.idle() && len(p.queue) == 0 {
			p.rest()
			return nil
		}
		select {
		case line, ok := <-typed:
			switch {
			case !ok:
				p.over, typed = true, nil
			case line != "":
				p.queue = append(p.queue, line)
			}
		case b := <-up:
			if b.err != nil {
				return b.err
			}
			p.cfg.Cluster = b.cluster
		case exit := <-ran:
			p.running = false
			if exit != 0 {
				p.out.say(fmt.Sprintf("The command ended with exit status %d.", exit))
			}
		case <-changed:
		case <-tick.C:
			p.teller.Tick(plainTick)
			p.tell()
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// idle reports whether a command can be run.
func (p *plain) idle() bool { return !p.running && p.cfg.Cluster != nil }

// exec runs a command; where what is typed is not seen it stands above what it writes.
func (p *plain) exec(ctx context.Context, group *safe.Group, line string, ran chan<- int) {
	p.running = true
	p.out.say("$ " + line)
	group.Go(func() {
		exit := p.cfg.Cluster.Exec(ctx, line, control.Streams{In: strings.NewReader(""), Out: p.out, Err: p.out, Source: "console"})
		select {
		case ran <- exit:
		case <-ctx.Done():
		}
	})
}

// catch takes in what has happened and gives how many events that was. In a recording there is no time to keep to: each
// sentence is told before the next event.
func (p *plain) catch(stream *trace.Stream) int {
	events, next, lost := stream.Read(p.pos, 0)
	p.pos = next
	if lost > 0 {
		p.out.say(fmt.Sprintf("(%d events were too many to write)", lost))
	}
	for i, e := range events {
		p.history.CatchUp(1)
		s := p.history.Latest()
		if p.all != nil {
			_, _ = io.WriteString(p.out, p.all.line(e, s, p.cfg.PlainOutside)) // failed has it
			continue
		}
		speed := 1.0
		if p.cfg.Cluster != nil {
			speed = p.cfg.Cluster.Clock().Speed
		}
		p.teller.Catch(events[i:i+1], s, speed)
		if p.cfg.Recording != "" {
			p.rest()
		}
	}
	p.tell()
	return len(events)
}

// tell writes the sentence that is told now, once.
func (p *plain) tell() {
	x := p.teller.Line()
	if x.Text == "" || x.String() == p.line.String() {
		return
	}
	p.line = x
	at := words.Clock(p.history.Latest().At)
	if x.Event != nil {
		at = words.Clock(x.Event.At) + " #" + x.Event.ID.String()
	}
	p.out.say(grid.Clean(at + " " + x.String()))
}

// rest writes what still waits to be told.
func (p *plain) rest() {
	p.tell()
	for p.teller.Waits() {
		p.teller.Tick(plainTick)
		p.tell()
	}
}

func crashOf(g *safe.Group) error {
	if c := g.Crash(); c != nil {
		return c
	}
	return nil
}
