package rehearsal

import "time"

// Spent is what a class's process has taken from the machine.
type Spent struct {
	Memory    uint64 // bytes of its own that lie in RAM
	Processor time.Duration
}
