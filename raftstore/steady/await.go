package steady

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Limit is for how long [Await] waits on a machine that is as fast as the one at hand was
// when the limit was chosen: long enough that only what will never happen runs into it.
const Limit = time.Minute

// Await asks every millisecond until missing gives nil, and fails the test once the limit is over:
// with what was waited for, what was still missing at the last look, and for how long the
// machine kept the test from running. The limit is [Limit], longer on a slow machine, and ends a little
// before the test's own deadline. In a bubble all of it is virtual time.
func Await(t testing.TB, what string, missing func() error) {
	t.Helper()
	limit := limitFor(t)
	began := time.Now()
	var starved time.Duration
	for last := began; ; {
		err := missing()
		if err == nil {
			return
		}
		now := time.Now()
		starved = max(starved, now.Sub(last)-pause)
		if now.Sub(began) > limit {
			t.Fatalf("after %s still not: %s (%v); the machine kept the test from looking for up to %s",
				limit.Round(time.Second), what, err, starved.Round(time.Millisecond))
		}
		last = now
		time.Sleep(pause)
	}
}

// Until is [Await] for what is just so, or not.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	Await(t, what, func() error {
		if holds() {
			return nil
		}
		return errNotYet
	})
}

// Patience is how long a test that cannot ask again and again may wait for one thing, as a
// context or a terminal does: the limit of [Await].
func Patience(t testing.TB) time.Duration { return limitFor(t) }

var errNotYet = fmt.Errorf("not yet")

const pause = time.Millisecond

func limitFor(t testing.TB) time.Duration {
	if bubbled() {
		return Limit
	}
	limit := time.Duration(float64(Limit) * slowness())
	if d, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if deadline, ok := d.Deadline(); ok {
			limit = min(limit, max(time.Until(deadline)-5*time.Second, time.Second))
		}
	}
	return limit
}

// slowness is how many times slower the machine is than the one for which Limit was chosen, at
// least 1 and at most 5: of computing and of writing to the disk, the slower.
var slowness = sync.OnceValue(func() float64 {
	const computes, writes = 20 * time.Millisecond, 20 * time.Millisecond
	began := time.Now()
	sum := uint64(0)
	for i := range uint64(20_000_000) {
		sum = sum*2862933555777941757 + i
	}
	computed := time.Since(began)
	if sum == 0 {
		return 1 // so that the loop is not left out
	}
	dir, err := os.MkdirTemp("", "kviz-slowness")
	if err != nil {
		return 1
	}
	defer os.RemoveAll(dir)
	f, err := os.Create(filepath.Join(dir, "write"))
	if err != nil {
		return 1
	}
	defer f.Close()
	began = time.Now()
	for range 4 {
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return 1
		}
		if err := f.Sync(); err != nil {
			return 1
		}
	}
	wrote := time.Since(began)
	return min(max(float64(computed)/float64(computes), float64(wrote)/float64(writes), 1), 5)
})
