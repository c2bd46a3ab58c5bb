package cacher

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// TestABusyWatcherStays: a client for which more comes at once than its buffer holds, and
// which then reads, keeps its watch, however often.
func TestABusyWatcherStays(t *testing.T) {
	k := sim.New(sim.Config{Seed: 7, Sink: nowhere{}})
	server := k.NewProcess(trace.Lane{Component: trace.CompAPIServer})
	user := k.NewProcess(trace.Lane{Component: trace.CompConsole})
	user.Go("test", func(task *sim.Task) {
		defer k.Stop()
		set := &watcherSet{kind: registry.KindFor(client.ConfigMaps.GroupVersionResource), p: server, indexed: map[string][]*Watcher{}}
		want := &Selector{kind: set.kind}
		busy := &Watcher{Number: 1, want: want, buffer: 14}
		set.plain, busy.set = append(set.plain, busy), set
		reader := task.Process().Go("reader", func(t *sim.Task) {
			for {
				if _, ok := busy.Recv(t); !ok {
					return
				}
			}
		})
		for range 50 {
			for range 10 * busy.Room() {
				busy.put(delivery{kind: watch.Modified, obj: &corev1.ConfigMap{}})
			}
			if task.Sleep(time.Microsecond); busy.closed {
				t.Fatal("the watch of a client that reads ended")
			}
		}
		_ = reader
	})
	if err := k.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// nowhere is where the trace goes.
type nowhere struct{}

func (nowhere) Append(*trace.Event) {}

// TestTimeBudget: how long the server waits for slow watchers, beside upstream's own
// reckoning (k8s.io/apiserver pkg/storage/cacher/time_budget.go): 50 ms a second, up
// to 100 ms, what is not used goes back.
func TestTimeBudget(t *testing.T) {
	var b budget
	for _, step := range []struct{ at, used, want time.Duration }{
		{0, 0, 0},
		{time.Second, 20 * time.Millisecond, 50 * time.Millisecond},
		{2 * time.Second, 80 * time.Millisecond, 80 * time.Millisecond}, // 30 left, 50 more
		{10 * time.Second, 100 * time.Millisecond, 100 * time.Millisecond},
		{11 * time.Second, 0, 50 * time.Millisecond},
	} {
		if got := b.take(step.at); got != step.want {
			t.Errorf("at %v it may wait %v, want %v", step.at, got, step.want)
		}
		b.leave(step.at + step.used)
	}
}
