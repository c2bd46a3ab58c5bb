package sim_test

import (
	"testing"
	"time"

	"kviz/cluster/sim"
)

// What is offloaded keeps nobody waiting, costs the virtual time that was
// modelled, and holds up whatever is later than that.
func TestOffloadedWorkRunsBesideTheRest(t *testing.T) {
	ticked := make(chan int, 1)
	var ticks, seen int
	err := run(t, sim.Config{}, func(main *sim.Task) {
		main.Process().Go("ticks", func(tk *sim.Task) {
			for range 20 {
				tk.Sleep(time.Millisecond)
				if ticks++; ticks == 9 {
					ticked <- ticks
				}
			}
		})
		tk := main
		tk.Offload("a sum", 10*time.Millisecond, 0, func() { seen = <-ticked }) // which the other task gives only if it goes on
		if tk.Elapsed() != 10*time.Millisecond || seen != 9 || ticks > 10 {
			t.Errorf("done at %v after %d ticks, with %d", tk.Elapsed(), ticks, seen)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What takes longer than its limit does not hold up the others.
func TestOffloadedWorkIsOutlasted(t *testing.T) {
	enough := make(chan struct{})
	over := false
	err := run(t, sim.Config{}, func(main *sim.Task) {
		main.Process().Go("others", func(tk *sim.Task) {
			tk.Sleep(20 * time.Millisecond) // behind the end of what is computed
			if over {
				t.Error("it was waited for")
			}
			close(enough)
		})
		main.Offload("a sum", time.Millisecond, time.Millisecond, func() { <-enough })
		over = true
	})
	if err != nil || !over {
		t.Errorf("its end was lost: %v", err)
	}
}
