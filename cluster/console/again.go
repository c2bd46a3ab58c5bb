package console

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"kviz/cluster/console/command"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// What enters the run at the console (see [sim.Kernel.Enter]). Of most commands the requests
// enter too, so that they need not be given again: they began and ended, and that is told.
// Those with tasks of their own (command.Kernel.Task) are given again.
const (
	inputCommand  = "command"
	inputDone     = "command.done"
	inputTool     = "tool"      // of a node
	inputToolTask = "tool.task" // where it takes time
)

// Inputs are what the console notes, and lets in again.
var Inputs = []string{inputCommand, inputDone, inputTool, inputToolTask}

// given is a command as it was given.
type given struct {
	Words   []string
	Dir     string
	Script  bool   `json:",omitempty"`
	Columns int    `json:",omitempty"`
	Piped   bool   `json:",omitempty"`
	In      []byte `json:",omitempty"`
	Source  string
	Line    string

	Confined bool `json:",omitempty"` // to a folder that goes with its lesson
}

// done is how a command ended.
type done struct {
	Command trace.ID
	Told    trace.Command
}

// tool is one use of a node's tool.
type tool struct {
	Node  string
	Words []string
	In    []byte   `json:",omitempty"`
	Of    uint64   `json:",omitempty"` // of its task: the number of the tool
	Cause trace.ID // of its task
}

// given takes down what is needed to give a command again. A command in the middle of a pipe
// begins when the one before it has ended: two that talk to the cluster at once would race.
func (c *Console) given(inv *command.Invocation) (*given, error) {
	g := &given{Words: inv.Args, Dir: inv.Dir, Script: inv.Script, Columns: inv.Columns, Piped: inv.Piped, Source: inv.Source, Line: quoteAll(inv.Args), Confined: inv.Within != nil}
	if !inv.Piped {
		return g, nil
	}
	b, err := io.ReadAll(inv.In)
	if err != nil {
		return nil, err
	}
	inv.In = bytes.NewReader(b)
	if name := inv.Args[0]; name != "kubectl" && name != "k" { // whose requests say it all
		g.In = b
	}
	return g, nil
}

// enter puts an event of the console into the trace; on the kernel's goroutine.
func (c *Console) enter(e trace.Event, with *given) trace.ID {
	if with != nil {
		c.kernel.Enter(inputCommand, with)
	} else {
		c.kernel.Enter(inputDone, done{e.Causes[0], *e.Payload.(*trace.Command)})
	}
	return c.kernel.Emit(e)
}

// repeated is what a run that is run again has at the console.
type repeated struct {
	open  map[trace.ID]*opened // commands that have not ended
	tools map[uint64]func(*sim.Task) int
}

// opened is a command that has begun again.
type opened struct {
	with  *given
	given bool // given again
	over  bool // has come to its end
}

// Process is whose tasks the commands' requests are.
func (c *Console) Process() *sim.Process { return c.kernel.Process }

// Again lets in what entered at the console, on the kernel's goroutine. gives reports
// whether a command has to be given again, by what its tasks are known by.
func (c *Console) Again(ctx context.Context, raw *trace.Input, gives func(task string) bool) (bool, error) {
	k := c.kernel
	if c.again.open == nil {
		c.again = repeated{map[trace.ID]*opened{}, map[uint64]func(*sim.Task) int{}}
	}
	switch raw.What {
	case inputCommand:
		with := &given{}
		if err := raw.Decode(with); err != nil {
			return false, err
		}
		k.Enter(raw.What, raw)
		id := k.Emit(trace.Event{
			Lane: k.Process.Lane, Kind: trace.CommandStart, Payload: &trace.Command{Line: with.Line, Source: with.Source},
		})
		one := &opened{with: with, given: gives(command.TaskOf(id))}
		c.again.open[id] = one
		if one.given {
			k.Beside(with.Line, func() { c.give(ctx, id, one) })
		}
		return true, nil
	case inputDone:
		var d done
		if err := raw.Decode(&d); err != nil {
			return false, err
		}
		if one := c.again.open[d.Command]; one == nil {
			return false, fmt.Errorf("command %s has not begun", d.Command)
		} else if one.given && !one.over {
			return false, nil
		}
		delete(c.again.open, d.Command)
		k.Enter(raw.What, raw)
		c.ended(d)
		return true, nil
	case inputTool:
		var t tool
		if err := raw.Decode(&t); err != nil {
			return false, err
		}
		n := k.Enter(raw.What, raw)
		if _, wait := c.cfg.Nodes.Run(t.Node, t.Words, t.In, io.Discard, io.Discard); wait != nil {
			c.again.tools[n] = wait
		}
		return true, nil
	case inputToolTask:
		var t tool
		if err := raw.Decode(&t); err != nil {
			return false, err
		}
		wait := c.again.tools[t.Of]
		if wait == nil {
			return false, fmt.Errorf("tool %d takes no time", t.Of)
		}
		delete(c.again.tools, t.Of)
		k.Enter(raw.What, raw)
		k.Start(k.Process, "on "+t.Node, func(task *sim.Task) {
			task.SetCauses(t.Cause)
			wait(task)
		}, nil)
		return true, nil
	}
	return false, fmt.Errorf("this kviz does not know what a %s is", raw.What)
}

func (c *Console) ended(d done) {
	c.kernel.Emit(trace.Event{Lane: c.kernel.Process.Lane, Kind: trace.CommandEnd, Causes: []trace.ID{d.Command}, Payload: &d.Told})
}

// give gives a command again. Should the run go on by itself before its end, it goes on too.
func (c *Console) give(ctx context.Context, id trace.ID, one *opened) {
	with := one.with
	head := &headWriter{}
	files := folders{c, with.Dir, nil}
	if with.Confined {
		files.within = &confinement{} // its folder has gone
	}
	inv := &command.Invocation{
		Kernel: c.kernel, Files: files, Args: with.Words, Dir: with.Dir, In: bytes.NewReader(with.In), Out: head, Err: head,
		Piped: with.Piped, Script: with.Script, Source: with.Source, Cause: id, Columns: with.Columns,
	}
	if with.Confined {
		inv.Within = func(name string) (string, error) { return files.within.reach(with.Dir, name) }
	}
	exit := 127
	if run := c.command(with.Words[0]); run != nil {
		exit = run(ctx, inv)
	}
	_ = c.kernel.Do(func() { // a kernel that has stopped asks nobody
		if one.over = true; c.kernel.Repeating() {
			return
		}
		d := done{id, trace.Command{Line: with.Line, Source: with.Source, Exit: exit, Output: head.String()}}
		c.kernel.Enter(inputDone, d)
		c.ended(d)
	})
}

// interrupted is the exit status of a command that ctrl-C has ended.
const interrupted = 130

// Leave ends the commands that were running when a repeated run becomes live, except
// those that continue in it. It is called on the kernel's goroutine.
func (c *Console) Leave() {
	for _, id := range slices.SortedFunc(maps.Keys(c.again.open), trace.ID.Compare) {
		if one := c.again.open[id]; !one.given || one.over {
			d := done{id, trace.Command{Line: one.with.Line, Source: one.with.Source, Exit: interrupted}}
			c.kernel.Enter(inputDone, d)
			c.ended(d)
		}
	}
	c.again = repeated{}
}
