package door

import (
	"slices"
	"sync"
	"time"
)

// Refusal is something that was refused or went wrong, for the teacher to see.
type Refusal struct {
	At    time.Time
	Addr  string
	Name  string // of the visitor; empty before it is known
	What  string // as a sentence without its subject: "asked for a shell command"
	Times int    // how often
	Stack string // of a screen that broke down
}

// keptRefusals is how many are kept: a screen or two of them.
const keptRefusals = 100

// refusals keeps the newest refusals. Nobody can push the others out by doing the same again and again: what
// repeats one of the last few is counted there.
type refusals struct {
	mu   sync.Mutex
	kept []Refusal
}

// sameWithin is among how many of the newest a repetition is looked for.
const sameWithin = 16

func (r *refusals) add(n Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n.At, n.Times = time.Now(), 1
	for i := len(r.kept) - 1; i >= max(0, len(r.kept)-sameWithin); i-- {
		if k := r.kept[i]; k.Addr == n.Addr && k.Name == n.Name && k.What == n.What {
			n.Times = k.Times + 1
			r.kept = slices.Delete(r.kept, i, i+1)
			break
		}
	}
	r.kept = append(r.kept, n)
	if over := len(r.kept) - keptRefusals; over > 0 {
		r.kept = slices.Delete(r.kept, 0, over)
	}
}

func (r *refusals) list() []Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.kept)
}
