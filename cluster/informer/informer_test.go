package informer_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

var lane = trace.Lane{Component: "test-controller"}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}, Data: map[string]string{"v": value}}
}

func put(t *sim.Task, c client.Interface, name, value string) {
	cm := configMap(name, value)
	if _, err := client.Create(t, c, client.ConfigMaps, "demo", cm); err != nil {
		if _, err = client.Update(t, c, client.ConfigMaps, "demo", cm); err != nil {
			panic(err)
		}
	}
}

func remove(t *sim.Task, c client.Interface, name string) {
	_ = c.Delete(t, client.ConfigMaps, "demo", name, metav1.DeleteOptions{})
}

// log is a handler that writes down what it receives.
func log(out *strings.Builder) informer.Handler {
	say := func(t *sim.Task, verb string, obj runtime.Object) {
		cm := obj.(*corev1.ConfigMap)
		fmt.Fprintf(out, "%9.3fs  %s %s=%s\n", t.Elapsed().Seconds(), verb, cm.Name, cm.Data["v"])
	}
	return informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { say(t, "add   ", obj) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { say(t, "update", obj) },
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { say(t, "delete", obj) },
	}
}

// The life of an informer: first list, changes, a watch that ends, a server
// that is away, history that is gone.
func TestLifeOfAnInformer(t *testing.T) {
	var out strings.Builder
	note := func(t *sim.Task, s string) { fmt.Fprintf(&out, "%9.3fs  # %s\n", t.Elapsed().Seconds(), s) }
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		put(t, c, "a", "1")
		put(t, c, "b", "1")
		i := informer.New(t.Process(), lane, c, client.ConfigMaps, "", informer.Options{})
		i.AddHandler(log(&out))
		note(t, "start: a and b exist")
		i.Start()
		i.WaitForSync(t)
		note(t, "synced")
		put(t, c, "c", "1")
		t.Sleep(time.Second)
		note(t, "the server ends the watch; b changes before the next one")
		b.EndWatches()
		put(t, c, "b", "2")
		t.Sleep(time.Minute)
		note(t, "the server is away for a minute, then its history is compacted; b deleted, c changed, d made meanwhile")
		b.SetDown(true)
		t.Sleep(time.Minute)
		b.SetDown(false)
		remove(t, c, "b")
		put(t, c, "c", "2")
		put(t, c, "d", "1")
		b.Compact()
		t.Sleep(time.Minute)
		note(t, "settled")
	})
	out.WriteString("\nevents:\n" + b.Transcript(trace.InformerRelist, trace.InformerSync, trace.WatchDelivered))
	clienttest.Golden(t, "life.txt", out.String())
}

func TestServerWithoutWatchListIsListedThenWatched(t *testing.T) {
	clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
		b.NoWatchList = true
		c := b.Client()
		put(task, c, "a", "1")
		i := informer.New(task.Process(), lane, c, client.ConfigMaps, "", informer.Options{})
		i.Start()
		i.WaitForSync(task)
		put(task, c, "b", "1")
		task.Sleep(time.Second)
		if i.Len() != 2 || b.Requests["list configmaps"] != 1 {
			t.Errorf("%d objects after %v", i.Len(), b.Requests)
		}
	})
}

func TestLateHandlerIsToldOfEverything(t *testing.T) {
	var out strings.Builder
	clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		put(t, c, "a", "1")
		i := informer.New(t.Process(), lane, c, client.ConfigMaps, "demo", informer.Options{Resync: time.Hour})
		i.Start()
		i.WaitForSync(t)
		i.AddHandler(log(&out))
		put(t, c, "a", "2")
		t.Sleep(time.Hour)
	})
	const want = "    0.002s  add    a=1\n    0.004s  update a=2\n 3600.002s  update a=2\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// A resync tells of everything again, each handler at its own pace, and asks the
// server nothing.
func TestResync(t *testing.T) {
	var often, seldom, never strings.Builder
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		put(t, c, "a", "1")
		put(t, c, "b", "1")
		i := informer.New(t.Process(), lane, c, client.ConfigMaps, "", informer.Options{Resync: 12 * time.Hour})
		i.AddHandler(log(&seldom))
		h := log(&never)
		h.Resync = informer.NoResync
		i.AddHandler(h)
		i.Start()
		i.WaitForSync(t)
		t.Sleep(time.Hour)
		h = log(&often) // its first comes before what the informer sleeps for
		h.Resync = 5 * time.Hour
		i.AddHandler(h)
		t.Sleep(5 * time.Hour)
		remove(t, c, "b")
		t.Sleep(7 * time.Hour)
	})
	var out strings.Builder
	for _, h := range []struct{ name, told string }{{"every 5h", often.String()}, {"every 12h", seldom.String()}, {"never", never.String()}} {
		fmt.Fprintf(&out, "# %s\n%s", h.name, h.told)
	}
	fmt.Fprintf(&out, "requests: %v\n%s", b.Requests, b.Transcript(trace.InformerResync))
	clienttest.Golden(t, "resync.txt", out.String())
}

func TestIndexFollowsChanges(t *testing.T) {
	clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
		c := b.Client()
		i := informer.New(task.Process(), lane, c, client.ConfigMaps, "", informer.Options{})
		i.AddIndex("value", func(o runtime.Object) []string { return []string{o.(*corev1.ConfigMap).Data["v"]} })
		i.Start()
		i.WaitForSync(task)
		names := func(v string) (out []string) {
			for _, o := range i.ByIndex("value", v) {
				out = append(out, informer.KeyOf(o))
			}
			return out
		}
		for _, n := range []string{"c", "a", "b"} {
			put(task, c, n, "x")
		}
		put(task, c, "b", "y")
		remove(task, c, "c")
		task.Sleep(time.Second)
		if got := fmt.Sprint(names("x"), names("y")); got != "[demo/a] [demo/b]" {
			t.Errorf("index holds %s", got)
		}
		// A change that leaves the indexed value as it is.
		changed := configMap("a", "x")
		changed.Data["w"] = "z"
		if _, err := client.Update(task, c, client.ConfigMaps, "demo", changed); err != nil {
			t.Fatal(err)
		}
		task.Sleep(time.Second)
		in := i.ByIndex("value", "x")
		if got := names("x"); len(got) != 1 || in[0].(*corev1.ConfigMap).Data["w"] != "z" {
			t.Errorf("after a change of something else index holds %s: %v", got, in)
		}
	})
}

// Whatever happens to the watch, the store and what the handlers received end
// up the same as the server's objects.
func TestRelistConverges(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		ops := rapid.SliceOfN(rapid.IntRange(0, 19), 1, 60).Draw(r, "ops")
		noWatchList := rapid.Bool().Draw(r, "noWatchList")
		clienttest.Run(r, rapid.Uint64().Draw(r, "seed"), func(b *clienttest.Bench, t *sim.Task) {
			b.NoWatchList = noWatchList
			c := b.Client()
			told := map[string]string{}
			i := informer.New(t.Process(), lane, c, client.ConfigMaps, "", informer.Options{})
			set := func(o runtime.Object) { told[informer.KeyOf(o)] = o.(*corev1.ConfigMap).Data["v"] }
			i.AddHandler(informer.Handler{
				Add: func(_ *sim.Task, o runtime.Object, _ trace.ID) {
					if _, dup := told[informer.KeyOf(o)]; dup {
						r.Fatalf("add of %s, which is known", informer.KeyOf(o))
					}
					set(o)
				},
				Update: func(_ *sim.Task, _, o runtime.Object, _ trace.ID) { set(o) },
				Delete: func(_ *sim.Task, o runtime.Object, _ trace.ID) { delete(told, informer.KeyOf(o)) },
			})
			i.Start()
			down := false
			for n, op := range ops {
				switch {
				case op < 6 && !down:
					put(t, c, fmt.Sprint("cm", op), fmt.Sprint(n))
				case op < 10 && !down:
					remove(t, c, fmt.Sprint("cm", op-6))
				case op < 12:
					b.EndWatches()
				case op < 14:
					b.Compact()
				case op < 16:
					down = !down
					b.SetDown(down)
				default:
					t.Sleep(time.Duration(op-15) * 700 * time.Millisecond)
				}
			}
			b.SetDown(false)
			t.Sleep(5 * time.Minute)
			want := map[string]string{}
			for _, o := range b.Objects(client.ConfigMaps) {
				want[informer.KeyOf(o)] = o.(*corev1.ConfigMap).Data["v"]
			}
			have := map[string]string{}
			for _, o := range i.List() {
				have[informer.KeyOf(o)] = o.(*corev1.ConfigMap).Data["v"]
			}
			if !maps.Equal(want, have) || !maps.Equal(want, told) {
				r.Fatalf("server %v\nstore %v\nhandlers %v", want, have, told)
			}
			if keys := i.List(); !slices.IsSortedFunc(keys, func(a, b runtime.Object) int {
				return strings.Compare(informer.KeyOf(a), informer.KeyOf(b))
			}) {
				r.Fatal("List is not sorted")
			}
		})
	})
}
