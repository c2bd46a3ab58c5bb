package sim_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// kept is a sink that keeps everything.
type kept struct{ events []*trace.Event }

func (k *kept) Append(e *trace.Event) { k.events = append(k.events, e) }

// inside are the control-plane events as text, inputs what entered.
func (k *kept) inside() (inside []string, inputs []*trace.Input) {
	for _, e := range k.events {
		if in, ok := e.Payload.(*trace.Input); ok {
			inputs = append(inputs, in)
		} else {
			inside = append(inside, fmt.Sprint(e.ID, e.At, e.Payload.(*trace.Process).Reason))
		}
	}
	return inside, inputs
}

// ticking is a kernel with a task that says something every so often.
func ticking(cfg sim.Config) (*sim.Kernel, *sim.Process) {
	k := sim.New(cfg)
	p := k.NewProcess(trace.Lane{Component: trace.CompKubelet})
	p.Go("tick", func(t *sim.Task) {
		for {
			say(t, fmt.Sprint("tick ", t.Rand().IntN(1000)))
			say(t, "tock")
			t.Sleep(10 * time.Millisecond)
		}
	})
	return k, p
}

func say(t *sim.Task, what string) {
	t.Emit(trace.Event{Kind: trace.ProcessStart, Payload: &trace.Process{Reason: what}})
}

// What entered at places that the machine's clock chose enters there again: between two
// steps, and in the midst of one where the cluster stood; who only waited is not missed.
func TestWhatEnteredEntersAgain(t *testing.T) {
	var first kept
	k, p := ticking(sim.Config{Seed: 5, Sink: &first})
	k.SetSpeed(20)
	ran := make(chan error, 1)
	go func() { ran <- k.Run(context.Background()) }()
	ask := func(what string) {
		if err := k.Call(t.Context(), p, what, func(t *sim.Task) { say(t, what) }, func() { k.Enter("ask", what) }); err != nil {
			t.Error(err)
		}
	}
	ask("one")
	if err := k.Attend(t.Context(), p, "wait", func(t *sim.Task) { t.Sleep(25 * time.Millisecond) }); err != nil {
		t.Error(err)
	}
	ask("two")
	if err := k.Do(func() { k.Step(trace.GrainRaft) }); err != nil {
		t.Error(err)
	}
	for standing := false; !standing; {
		if err := k.Do(func() { standing = k.Paused() }); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Do(func() {
		k.Enter("told", "while it stands")
		k.Emit(trace.Event{Kind: trace.ProcessStart, Payload: &trace.Process{Reason: "while it stands"}})
		k.Resume()
	}); err != nil {
		t.Error(err)
	}
	ask("three")
	k.Stop()
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	want, inputs := first.inside()
	if len(inputs) != 4 {
		t.Fatalf("%d inputs", len(inputs))
	}

	repeat := func(inputs []*trace.Input) (kept, error) {
		var again kept
		var k *sim.Kernel
		var p *sim.Process
		ended := make(chan error, 1)
		k, p = ticking(sim.Config{Seed: 5, Sink: &again, Again: &sim.Again{
			Inputs: inputs, To: uint64(len(want)), Ended: func(err error) { ended <- err },
			Let: func(in *trace.Input) (bool, error) {
				var what string
				if err := in.Decode(&what); err != nil {
					return false, err
				}
				k.Enter(in.What, in)
				if in.What == "told" {
					k.Emit(trace.Event{Kind: trace.ProcessStart, Payload: &trace.Process{Reason: what}})
					return true, nil
				}
				k.Start(p, what, func(t *sim.Task) { say(t, what) }, nil)
				return true, nil
			},
		}})
		go func() { ran <- k.Run(context.Background()) }()
		err := <-ended
		k.Stop()
		return again, errors.Join(err, <-ran)
	}
	again, err := repeat(inputs)
	if err != nil {
		t.Fatal(err)
	}
	if got, entered := again.inside(); fmt.Sprint(got) != fmt.Sprint(want) || len(entered) != len(inputs) {
		t.Errorf("run again:\n%v\nwas:\n%v", got, want)
	}

	moved := *inputs[1]
	moved.Steps = 0
	var lost *sim.LostError
	if _, err := repeat([]*trace.Input{inputs[1], &moved}); !errors.As(err, &lost) || lost.Input != &moved {
		t.Errorf("an input whose place has passed: %v", err)
	}
}

// From the moment at which the seed changes every stream draws anew.
func TestReseed(t *testing.T) {
	draw := func(seed, then uint64) (before, after [3]int) {
		k := sim.New(sim.Config{Seed: seed})
		r := k.Rand("x")
		for i := range before {
			before[i] = r.IntN(1 << 20)
		}
		k.Reseed(then)
		for i := range after {
			after[i] = r.IntN(1 << 20)
		}
		return before, after
	}
	a, b := draw(1, 2)
	if c, d := draw(1, 3); a != c || b == d {
		t.Errorf("%v %v, then %v %v", a, b, c, d)
	}
	if e, _ := draw(2, 1); e != b {
		t.Errorf("a stream that began anew is not one of its seed: %v, %v", b, e)
	}
}
