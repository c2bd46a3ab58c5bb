package sim_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
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

// lived is a kernel that runs, with what its sink has.
type lived struct {
	*sim.Kernel
	process *sim.Process
	said    kept
	ended   chan error
}

func begin() *lived {
	r := &lived{ended: make(chan error, 1)}
	r.Kernel, r.process = ticking(sim.Config{Seed: 5, Sink: &r.said})
	r.SetSpeed(0.5) // a tick each 20 ms: what is due sooner than 8 ms happens at once
	go func() { r.ended <- r.Run(context.Background()) }()
	return r
}

// ask has a task say something, which enters from outside.
func (r *lived) ask(t testing.TB, what string) {
	err := r.Call(t.Context(), r.process, what, func(t *sim.Task) { say(t, what) }, func() { r.Enter("ask", what) })
	if err != nil {
		t.Error(err)
	}
}

// tell says something by itself, also while the cluster stands.
func (r *lived) tell(what string) {
	r.Enter("told", what)
	r.Emit(trace.Event{Kind: trace.ProcessStart, Payload: &trace.Process{Reason: what}})
}

func (r *lived) do(t testing.TB, fn func()) {
	if err := r.Do(fn); err != nil {
		t.Error(err)
	}
}

func (r *lived) stands(t testing.TB) {
	steady.Until(t, "the cluster stands", func() (standing bool) {
		r.do(t, func() { standing = r.Paused() })
		return standing
	})
}

func (r *lived) end(t testing.TB) {
	r.Stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}

// repeated runs it again, to the event to, with these inputs.
func repeated(inputs []*trace.Input, to int) (kept, error) {
	var r *lived
	ended := make(chan error, 1)
	again := &sim.Again{
		Inputs: slices.Clone(inputs), To: uint64(to), Ended: func(err error) { ended <- err },
		Let: func(in *trace.Input) (bool, error) {
			var what string
			if err := in.Decode(&what); err != nil {
				return false, err
			}
			r.Enter(in.What, in)
			if in.What == "told" {
				r.Emit(trace.Event{Kind: trace.ProcessStart, Payload: &trace.Process{Reason: what}})
				return true, nil
			}
			r.Start(r.process, what, func(t *sim.Task) { say(t, what) }, nil)
			return true, nil
		},
	}
	r = &lived{ended: make(chan error, 1)}
	r.Kernel, r.process = ticking(sim.Config{Seed: 5, Sink: &r.said, Again: again})
	go func() { r.ended <- r.Run(context.Background()) }()
	err := <-ended
	r.Stop()
	return r.said, errors.Join(err, <-r.ended)
}

// same says how a run that is run again comes out, if not as it was.
func (r *lived) same() error {
	want, inputs := r.said.inside()
	again, err := repeated(inputs, len(want))
	if err != nil {
		return err
	}
	if got, entered := again.inside(); fmt.Sprint(got) != fmt.Sprint(want) || len(entered) != len(inputs) {
		return fmt.Errorf("run again:\n%v\nwas:\n%v", got, want)
	}
	return nil
}

// What entered at places that the machine's clock chose enters there again: between two
// steps, and in the midst of one where the cluster stood; who only waited is not missed.
func TestWhatEnteredEntersAgain(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		r := begin()
		r.ask(t, "one")
		if err := r.Attend(t.Context(), r.process, "wait", func(t *sim.Task) { t.Sleep(25 * time.Millisecond) }); err != nil {
			t.Error(err)
		}
		r.ask(t, "two")
		r.do(t, func() { r.Step(trace.GrainRaft) })
		r.stands(t)
		r.do(t, func() { r.tell("while it stands"); r.Resume() })
		r.ask(t, "three")
		r.end(t)
		if err := r.same(); err != nil {
			t.Error(err)
		}
		want, inputs := r.said.inside()
		if len(inputs) != 4 {
			t.Fatalf("%d inputs", len(inputs))
		}

		moved := *inputs[1]
		moved.Steps = 0
		var lost *sim.LostError
		if _, err := repeated([]*trace.Input{inputs[1], &moved}, len(want)); !errors.As(err, &lost) || lost.Input != &moved {
			t.Errorf("an input whose place has passed: %v", err)
		}
	})
}

// A task that stood in the midst of its step ends it before what entered only then: both have the
// same number of wake-ups before them.
func TestWhatEnteredAfterAStepEntersAfterIt(t *testing.T) {
	for name, meanwhile := range map[string]func(t *testing.T, r *lived){
		"at once":       func(t *testing.T, r *lived) { r.ask(t, "after") },
		"a little late": func(t *testing.T, r *lived) { time.Sleep(time.Millisecond); r.ask(t, "after") },
	} {
		t.Run(name, func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				r := begin()
				r.ask(t, "before")
				r.do(t, func() { r.AddStop(&sim.Stop{Once: true, At: ticks}) })
				r.stands(t)
				r.do(t, func() { r.tell("while it stands") })
				r.do(t, r.Resume)
				meanwhile(t, r)
				r.end(t)
				if err := r.same(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func ticks(e *trace.Event) bool {
	p, ok := e.Payload.(*trace.Process)
	return ok && strings.HasPrefix(p.Reason, "tick")
}

// Whatever a person does to a run, and whenever, it can be run again: pauses, steps, what they do
// while it stands, requests that wait for it to go on, and those that come at any moment.
func TestAnyRunEntersAgain(t *testing.T) {
	steady.Check(t, func(draw *rapid.T) {
		acts := rapid.SliceOfN(rapid.SampledFrom([]string{"ask", "ask beside", "wait beside", "tell", "tell", "pause", "step", "begin a step", "run to a tick", "resume", "resume and ask", "pass", "look", "speed"}), 1, 40).Draw(draw, "acts")
		passes := rapid.SliceOfN(rapid.IntRange(0, 30_000), len(acts), len(acts)).Draw(draw, "passes")
		var differs error
		steady.Bubble(t, func(t *testing.T) {
			r := begin()
			r.ask(t, "begin")
			for i, act := range acts {
				what := fmt.Sprint(act, " ", i)
				r.act(t, act, what, time.Duration(passes[i])*time.Microsecond)
			}
			answered := make(chan struct{})
			go func() { r.ask(t, "end"); close(answered) }()
			steady.Until(t, "no stop is left", func() bool {
				r.do(t, r.Resume)
				select {
				case <-answered:
					return true
				default:
					return false
				}
			})
			r.end(t)
			differs = r.same()
		})
		if differs != nil {
			draw.Fatal(differs)
		}
	})
}

// act does one thing to the run.
func (r *lived) act(t *testing.T, act, what string, d time.Duration) {
	beside := func(fn func()) {
		go fn()
		synctest.Wait()
	}
	switch act {
	case "ask":
		beside(func() { r.ask(t, what) })
		time.Sleep(d)
	case "ask beside":
		beside(func() { r.ask(t, what) })
	case "wait beside":
		beside(func() { _ = r.Attend(t.Context(), r.process, what, func(t *sim.Task) { t.Sleep(d) }) })
	case "tell":
		r.do(t, func() { r.tell(what) })
	case "pause":
		r.do(t, r.Pause)
	case "step":
		r.do(t, func() { r.Step(trace.GrainRaft) })
		r.stands(t)
	case "begin a step":
		r.do(t, func() { r.Step(trace.GrainRaft) })
	case "run to a tick":
		r.do(t, func() { r.AddStop(&sim.Stop{Once: true, At: ticks}); r.Resume() })
		r.stands(t)
	case "resume":
		r.do(t, r.Resume)
	case "resume and ask":
		beside(func() { r.ask(t, what) })
		r.do(t, r.Resume)
	case "pass":
		time.Sleep(d)
	case "look":
		r.do(t, func() { r.Paused() })
	case "speed":
		r.do(t, func() { r.SetSpeed(0.1 + d.Seconds()*100) })
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
