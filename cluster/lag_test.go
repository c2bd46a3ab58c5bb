package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// The API server's watch of one kind lags, and what it has missed is compacted.
// Nothing is told of that kind meanwhile, reads of it take a while and are right.
// When the store could tell it something again it cancels the watch with the
// compact revision; the watch cache lists anew, ends the watches of its clients,
// and these get 410 Gone and list anew too (inventory 88; etcd
// watchable_store.go syncWatchers). Each event names what it comes from.
func TestCompactionUnderALaggingWatch(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 31, NoSync: true, Nodes: 1})
		run(t, c, `
kubectl create deployment web --image=nginx:1.27
kubectl rollout status deploy/web --timeout=2m
`)
		from := mark(t, c)
		out := run(t, c, `
kviz fault stall watch/replicasets
kubectl scale deploy/web --replicas=3
sleep 30
kubectl get rs -o jsonpath='{.items[0].spec.replicas} wanted, {.items[0].status.replicas} there{"\n"}'
kviz wait 'store.watches.exists(w, w.name == "replicasets" && w.lag > 0)'
kviz fault compact store
kviz wait 'store.watches.exists(w, w.name == "replicasets" && w.next < store.compacted)'
kviz fault heal watch/replicasets
kubectl rollout status deploy/web --timeout=5m
kubectl get rs -o jsonpath='{.items[0].spec.replicas} wanted, {.items[0].status.replicas} there{"\n"}'
`)
		if !strings.Contains(out, "3 wanted, 1 there\n") || !strings.Contains(out, "3 wanted, 3 there\n") {
			t.Errorf("the controller must know of its replicas only when the watch goes on:\n%s", out)
		}
		golden(t, "lagging-watch", lagStory(after(t, c, from)))
	})
}

// lagStory is what a person would tell of a lagging watch, each line with what it
// comes from.
func lagStory(events []*trace.Event) string {
	var b strings.Builder
	told := map[trace.ID]string{}
	numbers := map[int64]string{}
	rev := func(n int64) string { // revisions by their order of appearance
		if numbers[n] == "" {
			numbers[n] = fmt.Sprintf("R%d", len(numbers)+1)
		}
		return numbers[n]
	}
	for _, e := range events {
		text := ""
		switch p := e.Payload.(type) {
		case *trace.Fault:
			text = p.Fault + " " + p.Target
		case *trace.Compaction:
			text = "compaction"
		case *trace.StoreWatch:
			if p.Name != "replicasets" {
				continue
			}
			switch {
			case e.Kind == trace.StoreWatchLag && p.Lag > 0:
				text = fmt.Sprintf("the watch lags from revision %s on: %d events wait", rev(p.Next), p.Waiting)
			case e.Kind == trace.StoreWatchLag:
				text = "the watch has caught up"
			case e.Kind == trace.StoreWatchOpened:
				text = "another watch is opened"
			default:
				text = fmt.Sprintf("the watch is cancelled, it wanted %s, compacted is a later one: %v (%s)", rev(p.Next), p.Compacted > p.Next, p.Reason)
			}
		case *trace.CacheList:
			text = fmt.Sprintf("the watch cache of %s is listed anew: %d objects", p.Resource, p.Objects)
		case *trace.Watch:
			if p.Resource != "replicasets" || e.Kind != trace.WatchClosed {
				continue
			}
			text = "the watch of " + p.Client + " ends: " + p.Reason
		case *trace.Informer:
			if e.Kind != trace.InformerRelist || p.Resource != "replicasets" {
				continue
			}
			reason, _, _ := strings.Cut(p.Reason, " too old")
			text = e.Lane.String() + " lists replicasets anew: " + reason
		default:
			continue
		}
		told[e.ID] = text
		b.WriteString(text + "\n")
		for _, id := range e.Causes {
			if cause, ok := told[id]; ok {
				b.WriteString("    because: " + cause + "\n")
			}
		}
	}
	return b.String()
}

// A slow watch tells everything, in order and one revision after another; nothing
// is lost as long as nothing is compacted.
func TestASlowWatchLosesNothing(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 32, NoSync: true, Nodes: 1})
		from := mark(t, c)
		run(t, c, `
kviz fault slow watch/secrets 1s
for i in 1 2 3 4 5; do kubectl create secret generic s$i --from-literal=a=b; done
kviz wait --timeout 60s 'store.watches.exists(w, w.name == "secrets" && w.lag == 0)'
kviz fault fast watch/secrets
`)
		var committed, heard []int64
		most := 0
		last := after(t, c, from)[0].At
		for _, e := range after(t, c, from) {
			switch p := e.Payload.(type) {
			case *trace.Commit:
				if strings.HasPrefix(p.Changes[0].Key, "/registry/secrets/") {
					committed = append(committed, p.Revision)
				}
			case *trace.StoreWatch:
				most = max(most, p.Waiting)
			case *trace.CacheUpdate:
				if p.Resource != "secrets" {
					continue
				}
				heard = append(heard, p.Revision)
				if len(heard) > 1 && (e.At-last).Seconds() < 1 {
					t.Errorf("revision %d came %s after the one before", p.Revision, e.At-last)
				}
				last = e.At
			}
		}
		if len(committed) != 5 || !slices.Equal(committed, heard) {
			t.Errorf("committed %v, heard %v", committed, heard)
		}
		if most < 3 {
			t.Errorf("at most %d events waited; the watch did not lag", most)
		}
	})
}
