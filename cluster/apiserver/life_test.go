package apiserver

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"sort"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"pgregory.net/rapid"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// TestKilled: who waits for a server that dies hears that it cannot be
// reached; watches end; a restarted server knows everything, hands out no UID
// twice, and the old clients still work.
func TestKilled(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		c := w.admin()
		first := w.put(task, "a", "1")
		wa := w.open(task, client.ConfigMaps, "", metav1.ListOptions{ResourceVersion: first.ResourceVersion})
		w.user.Go("assassin", func(t *sim.Task) {
			t.Sleep(300 * time.Microsecond) // in the middle of the request below
			w.s.Process().Kill()
		})
		_, err := c.Create(task, client.ConfigMaps, "default", configMap("b"))
		if !client.IsUnreachable(err) {
			t.Fatalf("a request to a dying server gave %v, want unreachable", err)
		}
		if _, ok := wa.Recv(task); ok {
			t.Error("the watch of a dead server goes on")
		}
		if _, err := c.Get(task, client.ConfigMaps, "default", "a"); !client.IsUnreachable(err) {
			t.Errorf("a dead server gave %v, want unreachable", err)
		}
		w.s.Restart(w.k.NewProcess(trace.Lane{Component: trace.CompAPIServer}))
		w.s.WaitReady(task)
		got, err := client.Get[*corev1.ConfigMap](task, c, client.ConfigMaps, "default", "a")
		w.must(err)
		if got.UID != first.UID || got.ResourceVersion != first.ResourceVersion {
			t.Errorf("after the restart the object is %s@%s, was %s@%s", got.UID, got.ResourceVersion, first.UID, first.ResourceVersion)
		}
		if again := w.put(task, "c", "1"); again.UID == first.UID {
			t.Error("the restarted server gave out a UID again")
		}
		svc, err := client.Create(task, c, client.Services, "default", &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
		w.must(err)
		if svc.Spec.ClusterIP == "10.96.0.1" || svc.Spec.ClusterIP == "" {
			t.Errorf("the restarted server gave the address %q", svc.Spec.ClusterIP)
		}
	})
}

// TestCauses: from the watch event a chain of causes leads to the request and
// to what made the client send it.
func TestCauses(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		wa := w.open(task, client.ConfigMaps, "default", metav1.ListOptions{})
		why := task.Emit(trace.Event{Kind: trace.CommandStart, Payload: &trace.Command{Line: "kubectl create configmap a"}})
		task.SetCauses(why)
		w.put(task, "a", "1")
		e, _ := wa.Recv(task)
		byID := map[trace.ID]*trace.Event{}
		for _, ev := range w.sink.events {
			byID[ev.ID] = ev
		}
		var chain []string
		for id := e.ID; ; {
			ev := byID[id]
			name := string(ev.Kind)
			if st, ok := ev.Payload.(*trace.Stage); ok {
				name = st.Stage
			}
			chain = append(chain, name)
			if len(ev.Causes) == 0 {
				break
			}
			id = ev.Causes[0]
		}
		expect(t, strings.Join(chain, " < "), "watch.event < api.watchcache < store.commit < storage < validating-admission < validation < mutating-admission < decode < authorization < priority-and-fairness < impersonation < audit < authentication < api.request < console.command")
	})
}

// TestRepeatable: the same seed gives the same trace, byte for byte.
func TestRepeatable(t *testing.T) {
	trace1, trace2 := digest(t), digest(t)
	if trace1 != trace2 {
		t.Errorf("two runs of seed 7 differ: %s and %s", trace1, trace2)
	}
}

func digest(t *testing.T) string {
	h := fnv.New64a()
	w := run(t, Config{}, func(w *world, task *sim.Task) {
		defaultAccount(w, task)
		for i := range 5 {
			w.user.Go("worker", func(wt *sim.Task) {
				for range 5 {
					p := pod("")
					p.GenerateName = "p-"
					_, err := w.admin().Create(wt, client.Pods, "default", p)
					w.must(err)
					w.patch(wt, client.ConfigMaps, "shared", types.ApplyPatchType, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"shared"},"data":{"k%d":"v"}}`, i), fmt.Sprint("m", i), true)
				}
			})
		}
		task.Sleep(time.Minute)
	})
	for _, e := range w.sink.events {
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		h.Write(b)
	}
	return fmt.Sprintf("%d events, %x", len(w.sink.events), h.Sum64())
}

// TestWatchersAgree: whatever is written, a watcher that began at any point
// and applies the events it gets ends with what a list gives.
func TestWatchersAgree(t *testing.T) {
	steady.Check(t, func(rt *rapid.T) {
		ops := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 30).Draw(rt, "ops")
		run(t, Config{}, func(w *world, task *sim.Task) {
			var watchers []*mirror
			for i, op := range ops {
				name := string(rune('a' + op%3))
				switch {
				case op == 9:
					opts := metav1.ListOptions{}
					if i%2 == 0 {
						opts.LabelSelector = "odd=yes"
					}
					watchers = append(watchers, &mirror{Watch: w.open(task, client.ConfigMaps, "", opts), opts: opts, state: map[string]string{}})
				case op >= 6:
					if err := w.admin().Delete(task, client.ConfigMaps, "default", name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
						rt.Fatal(err)
					}
				default:
					cm := configMap(name, "v", fmt.Sprint(i))
					if op%2 == 1 {
						cm.Labels = map[string]string{"odd": "yes"}
					}
					if _, err := client.Create(task, w.admin(), client.ConfigMaps, "default", cm); apierrors.IsAlreadyExists(err) {
						_, err = client.Update(task, w.admin(), client.ConfigMaps, "default", cm)
						w.must(err)
					}
				}
			}
			task.Sleep(time.Second)
			for n, r := range watchers {
				items, _, err := w.admin().List(task, client.ConfigMaps, "", r.opts)
				w.must(err)
				want := map[string]string{}
				for _, o := range items {
					want[object.Meta(o).GetName()] = object.Meta(o).GetResourceVersion()
				}
				r.drain(rt, task)
				if got, want := show(r.state), show(want); got != want {
					rt.Errorf("watcher %d (%q) has %s, a list gives %s", n, r.opts.LabelSelector, got, want)
				}
			}
		})
	})
}

// mirror is a client that keeps a copy by watching.
type mirror struct {
	client.Watch
	opts  metav1.ListOptions
	state map[string]string
	last  int64
}

func (r *mirror) drain(rt *rapid.T, t *sim.Task) {
	for r.Watch.(*cacher.Watcher).Len() > 0 {
		e, _ := r.Recv(t)
		name := object.Meta(e.Object).GetName()
		_, had := r.state[name]
		switch e.Type {
		case watch.Added, watch.Modified:
			if had == (e.Type == watch.Added) {
				rt.Errorf("%s of %s, which the watcher had: %v", e.Type, name, had)
			}
			r.state[name] = object.Meta(e.Object).GetResourceVersion()
		case watch.Deleted:
			if !had {
				rt.Errorf("DELETED of %s, which the watcher never had", name)
			}
			delete(r.state, name)
		}
		if e.Revision < r.last && r.last != 0 && e.Type != watch.Added {
			rt.Errorf("revision %d after %d", e.Revision, r.last)
		}
		r.last = max(r.last, e.Revision)
	}
}

func show(m map[string]string) string {
	var out []string
	for k, v := range m {
		out = append(out, k+"@"+v)
	}
	sort.Strings(out)
	return strings.Join(out, " ")
}
