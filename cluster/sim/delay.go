package sim

import "time"

// Delay is how much longer something takes than usual, such as a faulty link. It can be
// changed while tasks wait: one that has waited long enough by the new value continues at
// once. Zero delays nothing.
type Delay struct {
	d       time.Duration
	changed Cond
}

// Set changes it. It is called on the kernel's goroutine.
func (d *Delay) Set(to time.Duration) {
	d.d = to
	d.changed.Broadcast()
}

// Get is what it is now.
func (d *Delay) Get() time.Duration { return d.d }

// Pass lets the delay pass.
func (d *Delay) Pass(t *Task) {
	began := t.Elapsed()
	for {
		left := d.d - (t.Elapsed() - began)
		if left <= 0 {
			return
		}
		d.changed.WaitTimeout(t, left)
	}
}
