package runtime

import (
	"slices"
	"time"
)

// use is what a program uses until a time, in nanocores and bytes.
type use struct {
	cpu, memory int64
	until       time.Time
}

// maxUses bounds what one program has asked for at a time.
const maxUses = 10_000

// use adds to what the container uses.
func (run *running) use(cpu, memory int64, now time.Time, d time.Duration) {
	if len(run.uses) >= maxUses {
		run.using(now)
	}
	if len(run.uses) < maxUses {
		run.uses = append(run.uses, use{cpu, memory, now.Add(d)})
	}
}

// using is what the container's program uses now; what is over is forgotten.
func (run *running) using(now time.Time) (cpu, memory int64) {
	run.uses = slices.DeleteFunc(run.uses, func(u use) bool { return !u.until.After(now) })
	for _, u := range run.uses {
		cpu, memory = cpu+u.cpu, memory+u.memory
	}
	return cpu, memory
}
