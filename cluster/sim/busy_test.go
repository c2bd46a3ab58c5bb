package sim_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// What a kernel works counts as busy, and what it waits does not: neither for a timer, nor for the outside.
func TestAKernelKnowsWhatItHasSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := sim.New(sim.Config{})
		k.SetSpeed(1)
		k.NewProcess(trace.Lane{Component: "test"}).Go("works a little", func(tk *sim.Task) {
			for range 10 {
				tk.Sleep(time.Second)
				time.Sleep(100 * time.Millisecond) // in a bubble this is work that takes so long
			}
		})
		if spent := k.Busy(); spent != 0 {
			t.Errorf("%v spent before it runs", spent)
		}
		end := make(chan error, 1)
		go func() { end <- k.Run(context.Background()) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if spent := k.Busy(); spent != time.Second {
			t.Errorf("ten times 100 ms are %v", spent)
		}
		time.Sleep(time.Minute)
		if spent := k.Busy(); spent != time.Second {
			t.Errorf("a minute without work, and it has spent %v", spent)
		}
		k.Stop()
		if err := <-end; err != nil {
			t.Error(err)
		}
	})
}

// Also what goes on right now counts.
func TestAnEndlessTaskIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := sim.New(sim.Config{})
		k.NewProcess(trace.Lane{Component: "test"}).Go("computes", func(*sim.Task) { time.Sleep(time.Hour) })
		end := make(chan error, 1)
		go func() { end <- k.Run(context.Background()) }()
		time.Sleep(time.Minute)
		if spent := k.Busy(); spent != time.Minute {
			t.Errorf("a minute of work, and it says %v", spent)
		}
		k.Stop()
		if err := <-end; err != nil {
			t.Error(err)
		}
	})
}
