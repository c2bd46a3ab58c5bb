package sim_test

import (
	"testing"
	"time"

	"kviz/cluster/sim"
)

// Who waits out a delay goes on at once when it is taken away, waits longer when it
// grows, and not at all where there is none.
func TestADelayCanBeChangedWhileSomebodyWaits(t *testing.T) {
	for name, c := range map[string]struct {
		to   time.Duration // after a second
		want time.Duration
	}{
		"taken away":  {0, time.Second},
		"shorter":     {5 * time.Second, 5 * time.Second},
		"over by now": {time.Millisecond, time.Second},
		"longer":      {2 * time.Hour, 2 * time.Hour},
		"as it was":   {time.Hour, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			var d sim.Delay
			var took time.Duration
			d.Set(time.Hour)
			if err := run(t, sim.Config{}, func(tk *sim.Task) {
				tk.Process().Go("changes", func(t *sim.Task) {
					t.Sleep(time.Second)
					d.Set(c.to)
				})
				d.Pass(tk)
				took = tk.Elapsed()
			}); err != nil {
				t.Fatal(err)
			}
			if took != c.want {
				t.Errorf("it took %v, want %v", took, c.want)
			}
		})
	}
}
