package daemonset

import "time"

// A kubelet that refuses a pod fails it, and the controller makes another, which it
// refuses: so a node's failed pod is left for 1 s, then 2, 4 … up to 15 min
// (client-go/util/flowcontrol Backoff).
const (
	firstBackoff = time.Second
	maxBackoff   = 15 * time.Minute
)

type backoff map[string]wait

type wait struct {
	long  time.Duration
	since time.Time
}

func (w wait) expired(now time.Time) bool { return now.Sub(w.since) > 2*maxBackoff }

// left is how long to wait for a key's next turn; zero where it is due.
func (b backoff) left(key string, now time.Time) time.Duration {
	w, ok := b[key]
	if !ok || w.expired(now) || now.Sub(w.since) >= w.long {
		return 0
	}
	return w.long
}

// next takes the key's turn, and drops keys that had none for long.
func (b backoff) next(key string, now time.Time) {
	for k, w := range b {
		if w.expired(now) {
			delete(b, k)
		}
	}
	w := wait{firstBackoff, now}
	if was, ok := b[key]; ok {
		w.long = min(2*was.long, maxBackoff)
	}
	b[key] = w
}
