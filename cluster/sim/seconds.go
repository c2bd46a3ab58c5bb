package sim

import (
	"math"
	"strconv"
	"time"
)

// mostSeconds is how long somebody can ask for: 31 years, to which an epoch can still be added.
const mostSeconds = 1e9

// Seconds reads a number of seconds as commands take it: "5", "0.5". It reports false for what
// is no number, or none that time can pass by: below zero, NaN, endless.
func Seconds(text string) (time.Duration, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f <= mostSeconds) {
		return 0, false
	}
	return time.Duration(f * float64(time.Second)), true
}

// after is when d will have passed; at the end of time where there is no such moment.
func (k *Kernel) after(d time.Duration) time.Duration {
	if d > math.MaxInt64-k.now {
		return math.MaxInt64
	}
	return k.now + max(d, 0)
}
