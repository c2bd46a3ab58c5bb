package cacher

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
)

// choosy is a cache of ConfigMaps on a kernel, whose watches have long selectors.
type choosy struct {
	*feeder
	k *sim.Kernel
}

// among runs fn as a task of the server.
func among(t *testing.T, fn func(f *choosy, task *sim.Task)) {
	t.Helper()
	f := &choosy{feeder: feed(t, registry.KindFor(client.ConfigMaps.GroupVersionResource))}
	f.k = sim.New(sim.Config{Seed: 7, Sink: nowhere{}})
	f.c.cfg.Process, f.c.cfg.Wires = f.k.NewProcess(trace.Lane{Component: trace.CompAPIServer}), &Wires{}
	f.c.watchers.p = f.c.cfg.Process
	f.c.cfg.Process.Go("test", func(task *sim.Task) {
		defer f.k.Stop()
		fn(f, task)
	})
	if err := f.k.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// labelled is a ConfigMap with labels a0 … of a value.
func labelled(name string, n int, value string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, Labels: map[string]string{}}}
	for i := range n {
		cm.Labels[fmt.Sprint("a", i)] = value
	}
	return cm
}

// long is a selector of n requirements, that are true of what has not the label l0 …, and one more.
func long(n int, more string) string {
	parts := make([]string, n, n+1)
	for i := range parts {
		parts[i] = fmt.Sprint("!l", i)
	}
	return strings.Join(append(parts, more), ",")
}

// write is a revision that the cache takes in.
func (f *choosy) write(task *sim.Task, cm *corev1.ConfigMap) {
	value, err := registry.Encode(f.c.Kind, cm)
	if err != nil {
		f.t.Fatal(err)
	}
	f.revision++
	e := &mvccpb.Event{Type: mvccpb.PUT, Kv: &mvccpb.KeyValue{Key: []byte(f.c.Kind.Prefix + "demo/" + cm.Name), ModRevision: f.revision, Value: value}}
	f.c.take(task, storage.Batch{Revision: f.revision, Events: []*mvccpb.Event{e}})
}

func (f *choosy) watch(task *sim.Task, selector string, from int64) *Watcher {
	f.t.Helper()
	want, err := NewSelector(f.c.Kind, "demo", "", &metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		f.t.Fatal(err)
	}
	w, _, err := f.c.Watch(want, WatchOptions{Client: "test", From: from})
	if err != nil {
		f.t.Fatal(err)
	}
	w.Begin(task, trace.Ref{}, trace.ID{})
	return w
}

// got are the events that have arrived.
func got(task *sim.Task, w *Watcher) (all []string) {
	for w.Len() > 0 {
		e, _ := w.Recv(task)
		all = append(all, fmt.Sprint(e.Type, " ", e.Object.(*corev1.ConfigMap).Name, "@", e.Revision))
	}
	return all
}

// Fifty watches with one selector of 7,000 requirements cost a write no more than one, and
// that one asks about the labels that the object has.
func TestAWriteAsksOnceWhateverTheNumberOfWatches(t *testing.T) {
	among(t, func(f *choosy, task *sim.Task) {
		f.write(task, labelled("x", 3, "1"))
		var all []*Watcher
		for range 50 {
			all = append(all, f.watch(task, long(7000, "a0=2"), f.revision))
		}
		f.c.watchers.looked = 0
		f.write(task, labelled("x", 3, "2"))
		if n := f.c.watchers.looked; n != 2*3 {
			t.Errorf("a write asked %d requirements, want those on the 3 labels, of the object before and after", n)
		}
		task.Sleep(time.Second)
		for _, w := range all {
			if g := got(task, w); !slices.Equal(g, []string{"ADDED x@2"}) {
				t.Fatalf("a watch got %v", g)
			}
			w.Stop()
		}
		if n := len(f.c.watchers.asks.by); n != 0 || f.c.watchers.asks.most != 0 {
			t.Errorf("%d selectors are kept of watches that have ended", n)
		}
	})
}

// Where the watches' selectors differ, and objects have thousands of labels, the watches that a
// write goes to are found beside the kernel, and are those that upstream's selectors choose.
func TestDearSelectorsAreAskedBesideTheKernel(t *testing.T) {
	among(t, func(f *choosy, task *sim.Task) {
		f.write(task, labelled("x", 2000, "1"))
		type one struct {
			*Watcher
			plain labels.Selector
		}
		var all []one
		for i := range 50 {
			text := long(3000, fmt.Sprintf("a%d in (2,other%d)", i, i))
			if i%2 == 1 {
				text = long(3000, fmt.Sprintf("a%d notin (2,other%d)", i, i))
			}
			plain, err := labels.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, one{f.watch(task, text, f.revision), plain})
		}
		f.c.watchers.looked = 0
		turns, over := 0, false
		task.Process().Go("others", func(o *sim.Task) {
			for ; !over; o.Sleep(time.Millisecond) {
				turns++
			}
		})
		before, after := labelled("x", 2000, "1"), labelled("x", 2000, "2")
		f.write(task, after)
		over = true
		if n := f.c.watchers.looked; n != 0 || turns < 5 {
			t.Errorf("a write asked %d requirements on the kernel, and others had %d turns meanwhile", n, turns)
		}
		task.Sleep(time.Second)
		for _, w := range all {
			want := ""
			switch now, was := w.plain.Matches(labels.Set(after.Labels)), w.plain.Matches(labels.Set(before.Labels)); {
			case now && !was:
				want = "[ADDED x@2]"
			case was && !now:
				want = "[DELETED x@2]"
			}
			if g := fmt.Sprint(got(task, w.Watcher)); g != want {
				t.Errorf("a watch got %s, want %s", g, want)
			}
		}
		f.c.watchers.looked = 0
		f.write(task, labelled("y", 10, "2")) // of which there is little to ask
		if n := f.c.watchers.looked; n != 50*10 {
			t.Errorf("a write of 10 labels asked %d requirements", n)
		}
	})
}

// What a watch of a long selector begins with is chosen beside the kernel; what happens
// meanwhile comes behind it, and nothing twice.
func TestLongBeginningsAreChosenBesideTheKernel(t *testing.T) {
	for _, resumes := range []bool{false, true} {
		among(t, func(f *choosy, task *sim.Task) {
			const n = 900
			f.c.window.init(4 * n)
			for i := range n {
				f.write(task, labelled(fmt.Sprintf("x%04d", i), 40, fmt.Sprint(i%2)))
			}
			f.c.watchers.looked = 0
			from := int64(0)
			if resumes {
				from = n / 10
			}
			w := f.watch(task, long(7000, "a0=1"), from)
			f.write(task, labelled("x0001", 40, "1"))
			f.write(task, labelled("x0003", 40, "0"))
			if w.Len() != 0 {
				t.Error("events came before those that the watch begins with")
			}
			task.Sleep(time.Second)
			if looked := f.c.watchers.looked; looked > 4*40 {
				t.Errorf("the beginning asked %d requirements on the kernel", looked)
			}
			var want []string
			for i := from; i < n; i++ {
				if i%2 == 1 {
					want = append(want, fmt.Sprintf("ADDED x%04d@%d", i, i+1))
				}
			}
			want = append(want, fmt.Sprintf("MODIFIED x0001@%d", n+1), fmt.Sprintf("DELETED x0003@%d", n+2))
			if g := got(task, w); !slices.Equal(g, want) {
				t.Errorf("got %d events, want %d: … %v", len(g), len(want), g[max(0, len(g)-3):])
			}
		})
	}
}

// Watches that begin together are chosen for one after another; one that ends before its turn
// keeps nobody waiting.
func TestBeginningsAreChosenOneAfterAnother(t *testing.T) {
	among(t, func(f *choosy, task *sim.Task) {
		const n = 900
		for i := range n {
			f.write(task, labelled(fmt.Sprint("x", i), 40, "1"))
		}
		var all []*Watcher
		for range 4 {
			w := f.watch(task, long(7000, "a0=1"), 0)
			w.patience = 0 // however long the machine takes, virtual time waits for it
			all = append(all, w)
		}
		task.Yield()
		all[1].Stop()
		each := time.Duration(all[0].first.looks) * perLook
		task.Sleep(each + each/2)
		if got := []int{all[0].Len(), all[2].Len(), all[3].Len()}; !slices.Equal(got, []int{n, 0, 0}) {
			t.Errorf("after the time of one choice %d events were sent", got)
		}
		task.Sleep(2 * each)
		if got := []int{all[0].Len(), all[2].Len(), all[3].Len()}; !slices.Equal(got, []int{n, n, n}) {
			t.Errorf("after the time of three choices %d events were sent", got)
		}
	})
}

// The choice ends with its watch.
func TestNobodyChoosesForAWatchThatEnded(t *testing.T) {
	among(t, func(f *choosy, task *sim.Task) {
		for i := range 900 {
			f.write(task, labelled(fmt.Sprint("x", i), 40, "1"))
		}
		w := f.watch(task, long(7000, "a0=1"), 0)
		first := w.first
		if first == nil || !first.own {
			t.Fatal("the beginning is not chosen beside the kernel")
		}
		w.Stop()
		if chosen := first.choose(); chosen != nil {
			t.Errorf("%d events were chosen", len(chosen))
		}
		task.Sleep(time.Second)
		if w.Len() != 0 {
			t.Errorf("%d events were sent", w.Len())
		}
	})
}
