package sim_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// parts run beside a kernel, each a list of waits of virtual time, in milliseconds; the log says who
// computed when. Of each two that overlap in computing it says so.
func parts(t interface{ Fatalf(string, ...any) }, programs [][]int) []string {
	k := sim.New(sim.Config{})
	k.SetDemand(true)
	p := k.NewProcess(trace.Lane{Component: "test"})
	ended := make(chan error, 1)
	go func() { ended <- k.Run(context.Background()) }()
	var log []string // of who has the turn
	var computing atomic.Int32
	compute := func(who int) {
		if computing.Add(1) != 1 {
			log = append(log, "two at once")
		}
		var before, after time.Duration
		_ = k.Do(func() { before = k.Elapsed() })
		for range who * 3 {
			runtime.Gosched()
		}
		_ = k.Do(func() { after = k.Elapsed() })
		log = append(log, fmt.Sprintf("%d at %s", who, before))
		if before != after {
			log = append(log, "time passed meanwhile")
		}
		computing.Add(-1)
	}
	var done []chan struct{}
	run := func(who int, turn *sim.Turn) {
		ctx := sim.WithTurn(context.Background(), turn)
		turn.Await()
		for _, ms := range programs[who] {
			compute(who)
			if err := k.Call(ctx, p, "wait", func(t *sim.Task) { t.Sleep(time.Duration(ms) * time.Millisecond) }); err != nil {
				t.Fatalf("part %d: %v", who, err)
			}
		}
		compute(who)
		_ = turn.End(nil)
	}
	turns := make([]*sim.Turn, len(programs))
	for i := range turns {
		turns[i] = k.NewTurn(nil)
		_ = turns[i].Begin()
		done = append(done, make(chan struct{}))
	}
	for i := len(turns) - 1; i >= 0; i-- {
		go func() { defer close(done[i]); run(i, turns[i]) }()
	}
	for _, d := range done {
		<-d
	}
	k.Stop()
	if err := <-ended; err != nil {
		t.Fatalf("%v", err)
	}
	return log
}

// Parts of a script that compute beside the kernel do so one at a time, while virtual time stands, and in
// the same order whatever the machine does.
func TestPartsTakeTurns(t *testing.T) {
	want := []string{"0 at 0s", "1 at 0s", "0 at 1ms", "1 at 2ms", "0 at 2ms"}
	if got := parts(t, [][]int{{1, 1}, {2}}); !slices.Equal(got, want) {
		t.Errorf("they computed\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	steady.Check(t, func(r *rapid.T) {
		programs := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 4), 0, 5), 1, 5).Draw(r, "programs")
		first, second := parts(r, programs), parts(r, programs)
		if !slices.Equal(first, second) {
			r.Fatalf("they computed\n%s\nand then\n%s", strings.Join(first, "\n"), strings.Join(second, "\n"))
		}
		for _, line := range first {
			if !strings.Contains(line, " at ") {
				r.Fatalf("%s:\n%s", line, strings.Join(first, "\n"))
			}
		}
	})
}

// A part that is ended gives up what it waits for, once it has its turn, and begins nothing more.
func TestAPartIsEnded(t *testing.T) {
	k := sim.New(sim.Config{})
	k.SetDemand(true)
	p := k.NewProcess(trace.Lane{Component: "test"})
	stopped := make(chan error, 1)
	go func() { stopped <- k.Run(context.Background()) }()
	one, other := k.NewTurn(nil), k.NewTurn(nil)
	_, _ = one.Begin(), other.Begin()
	ended := make(chan error, 2)
	go func() {
		ctx := sim.WithTurn(context.Background(), other)
		other.Await()
		sleep := func(t *sim.Task) { t.Sleep(time.Hour) }
		ended <- k.Call(ctx, p, "wait", sleep)
		ended <- k.Call(ctx, p, "wait", sleep)
		_ = other.End(nil)
	}()
	if err := k.Call(sim.WithTurn(context.Background(), one), p, "wait", func(t *sim.Task) { t.Sleep(time.Second) }); err != nil {
		t.Fatal(err)
	}
	var at time.Duration
	_ = k.Do(func() { other.Rouse(); at = k.Elapsed() })
	select {
	case err := <-ended:
		t.Errorf("it computes while another has its turn: %v", err)
	default:
	}
	_ = one.End(nil)
	for range 2 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("its call gave %v", err)
		}
	}
	if at != time.Second || k.Moment() != time.Second {
		t.Errorf("it was ended at %s and at the end it is %s, want 1s", at, k.Moment())
	}
	k.Stop()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
