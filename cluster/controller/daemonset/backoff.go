package daemonset

import (
	"maps"
	"time"
)

// A kubelet that refuses a pod fails it, and the controller makes another, which it
// refuses: so a node's failed pod is left for 1 s, then 2, 4 … up to 15 min
// (client-go/util/flowcontrol Backoff).
const (
	firstBackoff = time.Second
	maxBackoff   = 15 * time.Minute
	sweepAfter   = time.Minute // between two times that it is looked for what can be forgotten
)

type backoff struct {
	waits map[string]wait
	swept time.Time
}

func newBackoff() *backoff { return &backoff{waits: map[string]wait{}} }

type wait struct {
	long  time.Duration
	since time.Time
}

func (w wait) expired(now time.Time) bool { return now.Sub(w.since) > 2*maxBackoff }

// left is how long to wait for a key's next turn; zero where it is due.
func (b *backoff) left(key string, now time.Time) time.Duration {
	w, ok := b.waits[key]
	if !ok || w.expired(now) || now.Sub(w.since) >= w.long {
		return 0
	}
	return w.long
}

// next takes the key's turn.
func (b *backoff) next(key string, now time.Time) {
	long := firstBackoff
	if was, ok := b.waits[key]; ok && !was.expired(now) {
		long = min(2*was.long, maxBackoff)
	}
	b.waits[key] = wait{long, now}
}

// sweep forgets, once a minute, keys that had no turn for long (BackoffGCInterval).
func (b *backoff) sweep(now time.Time) {
	if now.Sub(b.swept) < sweepAfter {
		return
	}
	b.swept = now
	maps.DeleteFunc(b.waits, func(_ string, w wait) bool { return w.expired(now) })
}
