package door

import "time"

// Limits bound what visitors may cost. A zero field stands for the usual value.
type Limits struct {
	Visits    int           // let in at the same time: 100
	Handshake time.Duration // to say who one is, and to open a terminal: 90 s
	Idle      time.Duration // without a byte from the client, until it is asked whether it is there: 1 min
	Answer    time.Duration // for it to answer that: 30 s
	Total     time.Duration // in all: 6 h
	Stalled   time.Duration // for a client that reads nothing of what is there to read: 10 s
	Farewell  time.Duration // for the last words to arrive, when a visit ends: 2 s
}

func (l Limits) orUsual() Limits {
	usual := Limits{Visits: 100, Handshake: 90 * time.Second, Idle: time.Minute, Answer: 30 * time.Second, Total: 6 * time.Hour, Stalled: 10 * time.Second, Farewell: 2 * time.Second}
	if l.Visits <= 0 {
		l.Visits = usual.Visits
	}
	for _, f := range []struct{ is, usual *time.Duration }{
		{&l.Handshake, &usual.Handshake}, {&l.Idle, &usual.Idle}, {&l.Answer, &usual.Answer}, {&l.Total, &usual.Total}, {&l.Stalled, &usual.Stalled}, {&l.Farewell, &usual.Farewell},
	} {
		if *f.is <= 0 {
			*f.is = *f.usual
		}
	}
	return l
}

const (
	// maxWidth and maxHeight are the largest window that is drawn for; a client may say any.
	maxWidth, maxHeight = 500, 200
	// strangers is how many connections may be underway that have not said yet who they are. A whole class
	// may come from one address, so it is one address's too.
	strangers = 100
	// turnedAway is how many at a time, beyond those let in, read that there is no room; the others
	// are closed without a handshake.
	turnedAway = 16
	// maxInput is how much may be typed that nobody has read.
	maxInput = 256 << 10
	// maxOutput is how much may be drawn that the client has not taken.
	maxOutput = 64 << 10
	// piece is how much is sent at once: what a client must take within Limits.Stalled.
	piece = 16 << 10
)

// budget is how many requests a connection may make: a number at once, and then so many a second.
type budget struct {
	left, most, perSecond float64
	at                    time.Time
}

func newBudget(most, perSecond float64) budget {
	return budget{left: most, most: most, perSecond: perSecond, at: time.Now()}
}

// take reports whether one more is allowed.
func (b *budget) take() bool {
	now := time.Now()
	b.left = min(b.most, b.left+now.Sub(b.at).Seconds()*b.perSecond)
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}
