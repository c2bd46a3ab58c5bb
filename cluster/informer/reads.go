package informer

import "kviz/cluster/sim"

// Reads counts what tasks read from the caches of a process: everything that a
// controller looks at, while its requests are few.
type Reads struct {
	kernel *sim.Kernel
	of     map[*sim.Task]int
}

func newReads(k *sim.Kernel) *Reads { return &Reads{k, map[*sim.Task]int{}} }

// Begin counts a task's reads from here on.
func (r *Reads) Begin(t *sim.Task) { r.of[t] = 0 }

// End gives how many there were since Begin.
func (r *Reads) End(t *sim.Task) int {
	n := r.of[t]
	delete(r.of, t)
	return n
}

// Add counts n reads more of a task that is counted.
func (r *Reads) Add(t *sim.Task, n int) {
	if _, counted := r.of[t]; counted {
		r.of[t] += n
	}
}

// count counts a read of the task that runs. A nil Reads counts nothing.
func (r *Reads) count() {
	if r == nil || len(r.of) == 0 {
		return
	}
	t := r.kernel.Current()
	if n, counted := r.of[t]; counted {
		r.of[t] = n + 1
	}
}
