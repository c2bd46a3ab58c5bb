package sim_test

import (
	"testing"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Only what time can pass by is a number of seconds.
func TestSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "0.5": time.Second / 2, "90": 90 * time.Second} {
		if d, ok := sim.Seconds(text); !ok || d != want {
			t.Errorf("%s are %v, %v", text, d, ok)
		}
	}
	for _, text := range []string{"", "x", "-1", "nan", "NaN", "inf", "+Inf", "1e300", "1e10"} {
		if d, ok := sim.Seconds(text); ok {
			t.Errorf("%q are %v", text, d)
		}
	}
}

// Whoever sleeps for longer than there is time does not wake at once.
func TestTheLongestSleep(t *testing.T) {
	k := sim.New(sim.Config{})
	p := k.NewProcess(trace.Lane{Component: "test"})
	woke := false
	var delay sim.Delay
	delay.Set(1<<63 - 1)
	for _, wait := range []func(*sim.Task){func(t *sim.Task) { t.Sleep(1<<63 - 1) }, delay.Pass} {
		p.Go("sleep", func(t *sim.Task) {
			t.Sleep(time.Hour)
			wait(t)
			woke = true
		})
	}
	p.Go("end", func(t *sim.Task) {
		t.Sleep(2 * time.Hour)
		k.Stop()
	})
	if err := k.Run(t.Context()); err != nil || woke {
		t.Errorf("woke %v, %v", woke, err)
	}
}
