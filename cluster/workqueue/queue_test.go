package workqueue_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kviz/cluster/client/clienttest"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/cluster/workqueue"
	"kviz/raftstore/steady"
)

var lane = trace.Lane{Component: "test-controller"}

// One key, added before, while and after it is processed: the package comment
// as a transcript.
func TestAKeyAddedWhileProcessedGoesRoundAgain(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		q := workqueue.New[string]("demo", lane, t.Process())
		q.Add(t, "demo/web")
		q.Add(t, "demo/web")
		key, _, _ := q.Get(t)
		q.Add(t, key)
		q.Add(t, key)
		q.Done(t, key)
		q.Get(t)
		q.Done(t, key)
		q.AddRateLimited(t, key)
		q.AddAfter(t, key, time.Minute) // later than the back-off: no change
		t.Sleep(time.Second)
		q.Get(t)
		q.AddRateLimited(t, key)
		q.Forget(key)
		q.Done(t, key)
	})
	clienttest.Golden(t, "goes-round-again.txt", b.Transcript(trace.QueueAdd, trace.QueueGet, trace.QueueDone, trace.QueueDelay))
}

// How many reconciles a hundred updates give depends on how long a reconcile
// takes: the numbers measured with client-go itself.
func TestHundredUpdates(t *testing.T) {
	var out strings.Builder
	fmt.Fprintln(&out, "# 100 Adds of one key: how many reconciles?")
	fmt.Fprintln(&out, "# adds over   one reconcile takes   reconciles")
	for _, c := range []struct{ every, work time.Duration }{
		{0, time.Millisecond},
		{10 * time.Millisecond, time.Millisecond},
		{10 * time.Millisecond, 50 * time.Millisecond},
		{10 * time.Millisecond, 200 * time.Millisecond},
		{10 * time.Millisecond, 1500 * time.Millisecond},
	} {
		reconciles := 0
		clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
			q := workqueue.New[string]("demo", lane, t.Process())
			t.Process().Go("worker", func(t *sim.Task) {
				for {
					key, _, _ := q.Get(t)
					reconciles++
					t.Sleep(c.work)
					q.Done(t, key)
				}
			})
			for range 100 {
				q.Add(t, "demo/web")
				if c.every > 0 {
					t.Sleep(c.every)
				}
			}
			t.Sleep(time.Minute)
		})
		fmt.Fprintf(&out, "%9s %18s %17d\n", 100*c.every, c.work, reconciles)
	}
	clienttest.Golden(t, "hundred-updates.txt", out.String())
}

// A key that three watch events touched leads back to all three.
func TestMergedAddsKeepAllCauses(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		q := workqueue.New[string]("demo", lane, t.Process())
		for range 3 {
			q.Add(t, "demo/web", t.Emit(trace.Event{Kind: trace.WatchDelivered}))
		}
		q.Get(t)
	})
	last := b.Events[len(b.Events)-1]
	if last.Kind != trace.QueueGet || len(last.Causes) != 3 {
		t.Fatalf("%s has causes %v, want three", last.Kind, last.Causes)
	}
	for i, id := range last.Causes {
		add := b.Events[id.Seq-1]
		if add.Kind != trace.QueueAdd || b.Events[add.Causes[0].Seq-1].Kind != trace.WatchDelivered {
			t.Errorf("cause %d is %s, want queue.add caused by watch.event", i, add.Kind)
		}
	}
}

func TestFloodOfAddsKeepsBoundedCauses(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		q := workqueue.New[string]("demo", lane, t.Process())
		for range 1000 {
			q.Add(t, "demo/web")
		}
		q.Get(t)
	})
	last := b.Events[len(b.Events)-1]
	if n := len(last.Causes); n != workqueue.MaxCauses {
		t.Fatalf("%d causes, want %d", n, workqueue.MaxCauses)
	}
	if last.Causes[0].Seq != 1 || last.Causes[workqueue.MaxCauses-1].Seq != 1000 {
		t.Errorf("causes %v should keep the oldest and the newest", last.Causes)
	}
}

func TestBackOffIsExponentialPerKeyAndSharedBucket(t *testing.T) {
	clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
		l := workqueue.NewLimiter[string](b.Kernel)
		for n, want := range []time.Duration{5, 10, 20, 40, 80} {
			if got := l.When("a"); got != want*time.Millisecond {
				t.Errorf("failure %d waits %s, want %dms", n+1, got, want)
			}
		}
		for range 95 { // the rest of the burst
			l.When("b")
		}
		if got := l.When("c"); got != 100*time.Millisecond {
			t.Errorf("the 101st retry of the queue waits %s, want 100ms (the bucket)", got)
		}
		l.Forget("b")
		task.Sleep(time.Hour)
		if got := l.When("b"); got != 5*time.Millisecond {
			t.Errorf("after Forget the key waits %s, want 5ms", got)
		}
		for range 40 {
			l.When("d")
		}
		if got := l.When("d"); got != workqueue.MaxDelay {
			t.Errorf("the longest wait is %s, want %s", got, workqueue.MaxDelay)
		}
	})
}

// Any number of producers and workers: never two workers on one key, and after
// the last change of a key there is a reconcile that began later.
func TestNoKeyIsLostOrSharedByWorkers(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		workers := rapid.IntRange(1, 4).Draw(r, "workers")
		type step struct {
			key  int
			wait time.Duration
			how  int
		}
		steps := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) step {
			return step{rapid.IntRange(0, 3).Draw(r, "key"), time.Duration(rapid.IntRange(0, 5).Draw(r, "wait")) * time.Millisecond, rapid.IntRange(0, 2).Draw(r, "how")}
		}), 1, 60).Draw(r, "steps")
		work := time.Duration(rapid.IntRange(0, 8).Draw(r, "work")) * time.Millisecond
		changed, seen := map[int]int{}, map[int]int{}
		clienttest.Run(t, rapid.Uint64().Draw(r, "seed"), func(b *clienttest.Bench, t *sim.Task) {
			q := workqueue.New[int]("demo", lane, t.Process())
			busy := map[int]bool{}
			for w := range workers {
				t.Process().Go(fmt.Sprint("worker", w), func(t *sim.Task) {
					for {
						key, _, quit := q.Get(t)
						if quit {
							return
						}
						if busy[key] {
							r.Fatalf("two workers hold key %d", key)
						}
						busy[key] = true
						now := changed[key]
						t.Sleep(work)
						seen[key] = max(seen[key], now)
						busy[key] = false
						if t.Rand().IntN(4) == 0 {
							q.AddRateLimited(t, key)
						} else {
							q.Forget(key)
						}
						q.Done(t, key)
					}
				})
			}
			for _, s := range steps {
				changed[s.key]++
				switch s.how {
				case 0:
					q.Add(t, s.key)
				case 1:
					q.AddAfter(t, s.key, 3*time.Millisecond)
				case 2:
					q.AddRateLimited(t, s.key)
				}
				t.Sleep(s.wait)
			}
			t.Sleep(time.Hour)
			q.ShutDown()
			t.Sleep(time.Second)
		})
		for key, n := range changed {
			if seen[key] != n {
				r.Fatalf("key %d changed %d times, the newest reconcile saw change %d", key, n, seen[key])
			}
		}
	})
}
