package steady

import (
	"testing"
	"testing/synctest"
	"time"
)

// Bubble runs a test in a bubble of [synctest]: time begins at midnight UTC 2000-01-01 and
// passes only while every goroutine of the bubble waits for it. So an election timeout of
// 250 ms is as long as what the members compute meanwhile allows, and "nothing happens for a
// minute" takes no time.
//
// What waits must be "durably blocked": a goroutine that waits for a mutex, a socket, a child
// process or a channel made outside the bubble stops time for good; package lock has locks
// for what is held while time passes. So does a goroutine that always has something to do,
// as a client that writes again as soon as it is answered: it must pause. t.Run, t.Parallel and
// t.Deadline may not be called inside; a table opens a bubble in each subtest.
func Bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	failed := false
	defer func() {
		// What a test leaves behind when it fails in its midst is no news, and synctest's
		// panic over it would take every other test of the package along.
		if failed {
			if p := recover(); p != nil {
				t.Fatalf("after the failure: %v", p)
			}
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		defer func() { failed = t.Failed() }()
		f(t)
	})
}

// bubbled reports whether the caller is in a bubble, whose time begins in 2000.
func bubbled() bool { return time.Now().Year() < 2020 }
