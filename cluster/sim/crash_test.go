package sim

import (
	"strings"
	"testing"

	"kviz/cluster/trace"
)

// A panic in contained work ends neither the task nor the run; a kill does, and so does what is
// against the kernel's rules.
func TestHandleCrash(t *testing.T) {
	k := New(Config{Seed: 1})
	p := k.NewProcess(trace.Lane{Component: "one"})
	var brief []string
	after, killed := false, false
	p.Go("works", func(t *Task) {
		for _, fn := range []func(){
			func() { panic("says so") },
			func() { m := map[string]map[string]int{}; t.Sleep(1); m["a"]["b"] = 1 },
			func() {},
		} {
			if e := t.HandleCrash(fn); e != nil {
				brief = append(brief, e.Brief())
			}
		}
		after = true
	})
	q := k.NewProcess(trace.Lane{Component: "two"})
	q.Go("is killed", func(t *Task) {
		_ = t.HandleCrash(func() { t.Sleep(1 << 40) })
		killed = true
	})
	k.NewProcess(trace.Lane{Component: "three"}).Go("kills", func(t *Task) { t.Sleep(5); q.Kill(); t.Sleep(5) })
	r := k.NewProcess(trace.Lane{Component: "four"})
	var other *Task
	r.Go("waits", func(t *Task) { other = t; t.Sleep(1 << 40) })
	r.Go("cheats", func(t *Task) {
		t.Sleep(100)
		_ = t.HandleCrash(func() { other.Sleep(1) })
	})
	err := k.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "outside its turn") {
		t.Errorf("the run ended with %v", err)
	}
	if !after || killed || len(brief) != 2 || !strings.HasPrefix(brief[0], "panic: says so (sim.TestHandleCrash.") || !strings.Contains(brief[1], "nil map") {
		t.Errorf("after: %v, killed went on: %v, %q", after, killed, brief)
	}
}
