package trace

import (
	"math"
	"time"
)

// ClientLimited is the rate limit in a component's own client.
var ClientLimited = define[ClientLimit]("client.limit", GrainStage,
	"A component's client of the API server has a rate limit of its own: it was made, a request left less than half of the burst, or a request has to wait for its turn.",
	"How many more it may send at once, and how many wait: client-go then says \"Waited before sending request … client-side throttling, not priority and fairness\". The API server does not notice.",
	"client-go rest/request.go tryThrottle; util/flowcontrol/throttle.go NewTokenBucketRateLimiter")

// ClientLimit is a client's token bucket as a request leaves it.
type ClientLimit struct {
	Client   string        // which of its component's clients
	Verb     string        `json:",omitempty"` // of the request; "" when the client is made
	Resource string        `json:",omitempty"`
	QPS      float64       // requests a second
	Burst    int           // requests at once
	Tokens   float64       // that are left; below zero while requests wait
	Delay    time.Duration `json:",omitempty"` // until this one is sent
}

// left is how many tokens there are so much later, if nothing is sent meanwhile.
func (l *ClientLimit) left(later time.Duration) float64 {
	const dust = 1e-5 // of rounding: a token is there when its time has come
	return min(l.Tokens+float64(later.Seconds()*l.QPS), float64(l.Burst)) + dust
}

// Left is how many requests may be sent at once so much later, if none is meanwhile.
func (l *ClientLimit) Left(later time.Duration) int { return max(int(math.Floor(l.left(later))), 0) }

// Waiting is how many requests still wait for their turn so much later, if none comes
// meanwhile.
func (l *ClientLimit) Waiting(later time.Duration) int {
	return max(int(math.Ceil(-l.left(later))), 0)
}
