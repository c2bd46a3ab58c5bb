package cacher

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// TestOneEvent: what a client gets, in which order, while single events are held, lost and
// delayed. A letter is a change of a config map of that name, a star a bookmark; in capitals
// what is done: Hold, reLease, loSe, Delay, sTall, Flow, each with the object it is for.
func TestOneEvent(t *testing.T) {
	for _, c := range []struct{ does, gets, tells string }{
		{"a b", "a1 b2", ""},
		{"H a b * L c", "a1 b2 *3 c4", "held a1, held b2"},
		{"H a b", "", "held a1, held b2"},
		{"Hb a b a L", "a1 b2 a3", "held b2, held a3"}, // the first is of another object
		{"H L a", "a1", ""},                            // nothing had come
		{"H a S b", "b2", "held a1, lost a1"},
		{"S a b", "b2", "lost a1"},
		{"Sb a b c", "a1 c3", "lost b2"},
		{"S * a b", "*1 b3", "lost a2"}, // never a bookmark
		{"D a b c", "b2 a1 c3", "held a1"},
		{"D a", "", "held a1"},
		{"D a F b", "a1 b2", "held a1"},
		{"D a a b", "a2 a1<2 b3", "held a1"}, // back in time
		{"H a b D c", "b2 a1 c3", "held a1, held b2"},
		{"H a D b", "b2 a1", "held a1"},
		{"T a b c L", "a1", "held a1, held b2, held c3"}, // one at a time
		{"T a b c L L F d", "a1 b2 c3 d4", "held a1, held b2, held c3"},
		{"T a b Sb F", "a1", "held a1, held b2, lost b2"},
	} {
		gets, tells := oneEvent(t, strings.Fields(c.does))
		if gets != c.gets || tells != c.tells {
			t.Errorf("%s: it gets %q and the trace tells %q, want %q and %q", c.does, gets, tells, c.gets, c.tells)
		}
	}
}

func oneEvent(t *testing.T, does []string) (gets, tells string) {
	sink := &told{}
	k := sim.New(sim.Config{Seed: 7, Sink: sink})
	server := k.NewProcess(trace.Lane{Component: trace.CompAPIServer})
	user := k.NewProcess(trace.Lane{Component: trace.CompConsole})
	var got []string
	user.Go("test", func(task *sim.Task) {
		defer k.Stop()
		set := &watcherSet{kind: registry.KindFor(client.ConfigMaps.GroupVersionResource), p: server, indexed: map[string][]*Watcher{}}
		w := &Watcher{want: &Selector{kind: set.kind}, client: "x", buffer: 14, set: set}
		ws := &Wires{Open: func() []*Watcher { return []*Watcher{w} }}
		set.plain = append(set.plain, w)
		ws.open(w, true)
		task.Process().Go("reader", func(t *sim.Task) {
			for {
				e, ok := w.Recv(t)
				if !ok {
					return
				}
				name := "*"
				if e.Type != watch.Bookmark {
					name = e.Object.(*corev1.ConfigMap).Name
				}
				name += fmt.Sprint(e.Revision)
				if p := sink.last.Payload.(*trace.WatchEvent); p.Newer > 0 {
					name += fmt.Sprintf("<%d", p.Newer)
				}
				got = append(got, name)
			}
		})
		revision := int64(0)
		why := k.Emit(trace.Event{Lane: trace.Lane{Component: trace.CompSimulation}, Kind: trace.FaultInjected, Payload: &trace.Fault{}})
		for _, do := range does {
			switch what, of := do[:1], do[1:]; what {
			case "H":
				ws.Hold("x/configmaps", of, why)
			case "L":
				ws.Release("x/configmaps", why)
			case "S":
				ws.Lose("x/configmaps", of, why)
			case "D":
				ws.Delay("x/configmaps", of, why)
			case "T":
				ws.Stall("x/configmaps", why)
			case "F":
				ws.Flow("x/configmaps", why)
			default:
				revision++
				d := delivery{kind: watch.Modified, obj: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: what}}, ref: trace.Ref{Kind: "ConfigMap", Name: what}, revision: revision, cause: why}
				if what == "*" {
					d = delivery{kind: watch.Bookmark, obj: &corev1.ConfigMap{}, revision: revision, cause: why}
				}
				w.put(d)
			}
			task.Sleep(time.Millisecond)
		}
	})
	if err := k.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return strings.Join(got, " "), strings.Join(sink.said, ", ")
}

// told keeps what the trace tells of events that are held or lost.
type told struct {
	last *trace.Event
	said []string
}

func (s *told) Append(e *trace.Event) {
	s.last = e
	if e.Kind == trace.WatchHeld || e.Kind == trace.WatchLost {
		s.said = append(s.said, fmt.Sprintf("%s %s%d", strings.TrimPrefix(string(e.Kind), "watch."), e.Object.Name, e.Payload.(*trace.WatchEvent).Revision))
	}
}
