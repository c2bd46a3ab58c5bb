package apiserver

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"kviz/cluster/apiserver/request"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// next receives an event and describes it.
func next(t *sim.Task, w client.Watch) string {
	e, ok := w.Recv(t)
	if !ok {
		return "ended"
	}
	m := object.Meta(e.Object)
	out := fmt.Sprintf("%s %s@%d", e.Type, m.GetName(), e.Revision)
	if m.GetResourceVersion() != object.FormatRevision(e.Revision) {
		out += " but the object says " + m.GetResourceVersion()
	}
	if m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
		out += " (the initial events end)"
	}
	return out
}

func expect(t testing.TB, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func (w *world) put(t *sim.Task, name, value string) *corev1.ConfigMap {
	w.t.Helper()
	c := w.admin()
	cm, err := client.Create(t, c, client.ConfigMaps, "default", configMap(name, "v", value))
	if apierrors.IsAlreadyExists(err) {
		cm, err = client.Update(t, c, client.ConfigMaps, "default", configMap(name, "v", value))
	}
	w.must(err)
	return cm
}

func (w *world) open(t *sim.Task, r client.Resource, ns string, opts metav1.ListOptions) client.Watch {
	w.t.Helper()
	wa, err := w.admin().Watch(t, r, ns, opts)
	w.must(err)
	return wa
}

// TestWatchResume: a watch that begins at a revision gets everything after it,
// in order, with the revisions of the store.
func TestWatchResume(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		a := w.put(task, "a", "1")
		rev, _ := strconv.Atoi(a.ResourceVersion)
		w.put(task, "b", "1")
		w.put(task, "a", "2")
		w.must(w.admin().Delete(task, client.ConfigMaps, "default", "b", metav1.DeleteOptions{}))
		wa := w.open(task, client.ConfigMaps, "default", metav1.ListOptions{ResourceVersion: a.ResourceVersion})
		expect(t, next(task, wa), fmt.Sprintf("ADDED b@%d", rev+1))
		expect(t, next(task, wa), fmt.Sprintf("MODIFIED a@%d", rev+2))
		expect(t, next(task, wa), fmt.Sprintf("DELETED b@%d", rev+3))
		wa.Stop()
		expect(t, next(task, wa), "ended")
	})
}

// A watch from a revision that the store has not come to yet gets what comes after
// it, and nothing before (cacher/cache_watcher.go process).
func TestWatchFromTheFuture(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		now := w.s.Store().Revision()
		wa := w.open(task, client.ConfigMaps, "default", metav1.ListOptions{ResourceVersion: object.FormatRevision(now + 2)})
		for _, name := range []string{"a", "b", "c"} {
			w.put(task, name, "1")
		}
		expect(t, next(task, wa), fmt.Sprintf("ADDED c@%d", now+3))
	})
}

// TestWatchTooOld: what the window has forgotten is 410 Gone; a list repairs
// it.
func TestWatchTooOld(t *testing.T) {
	run(t, Config{CacheSize: 4}, func(w *world, task *sim.Task) {
		first := w.put(task, "a", "0")
		for i := range 6 {
			w.put(task, "a", strconv.Itoa(i+1))
		}
		_, err := w.admin().Watch(task, client.ConfigMaps, "", metav1.ListOptions{ResourceVersion: first.ResourceVersion})
		if !apierrors.IsResourceExpired(err) {
			t.Fatalf("a watch from a forgotten revision gave %v, want 410 Gone", err)
		}
		rev, _ := strconv.Atoi(first.ResourceVersion)
		expect(t, err.Error(), fmt.Sprintf("too old resource version: %d (%d)", rev, rev+2))
		_, listed, err := w.admin().List(task, client.ConfigMaps, "", metav1.ListOptions{})
		w.must(err)
		wa := w.open(task, client.ConfigMaps, "", metav1.ListOptions{ResourceVersion: object.FormatRevision(listed)})
		w.put(task, "a", "again")
		expect(t, next(task, wa), fmt.Sprintf("MODIFIED a@%d", listed+1))
	})
}

// TestWatchList: the state as ADDED, a bookmark that ends it, then changes;
// and a bookmark every minute.
func TestWatchList(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		w.put(task, "a", "1")
		b := w.put(task, "b", "1")
		yes := true
		wa := w.open(task, client.ConfigMaps, "default", metav1.ListOptions{
			SendInitialEvents:    &yes,
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true,
		})
		expect(t, next(task, wa), "ADDED a@4")
		expect(t, next(task, wa), "ADDED b@"+b.ResourceVersion)
		expect(t, next(task, wa), "BOOKMARK @"+b.ResourceVersion+" (the initial events end)")
		w.put(task, "a", "2")
		expect(t, next(task, wa), "MODIFIED a@6")
		// Something else happens, so that there is a newer revision to tell.
		_, err := w.admin().Create(task, client.Secrets, "default", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}})
		w.must(err)
		before := task.Elapsed()
		expect(t, next(task, wa), "BOOKMARK @7")
		if took := task.Elapsed() - before; took > time.Minute {
			t.Errorf("the bookmark took %v, want at most a minute", took)
		}
	})
}

// TestSelectors: an object that begins to match is ADDED, one that ceases to
// is DELETED, with its last matching state.
func TestSelectors(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		defaultAccount(w, task)
		c := w.admin()
		red := w.open(task, client.ConfigMaps, "", metav1.ListOptions{LabelSelector: "colour=red"})
		mine := w.open(task, client.Pods, "", metav1.ListOptions{FieldSelector: "spec.nodeName=node-1"})
		other := w.open(task, client.Pods, "", metav1.ListOptions{FieldSelector: "spec.nodeName=node-2"})
		free := w.open(task, client.Pods, "", metav1.ListOptions{FieldSelector: "spec.nodeName=,status.phase!=Failed"})

		cm := w.put(task, "a", "1")
		cm.Labels = map[string]string{"colour": "red"}
		cm, err := client.Update(task, c, client.ConfigMaps, "default", cm)
		w.must(err)
		expect(t, next(task, red), "ADDED a@"+cm.ResourceVersion)
		cm.Labels["colour"] = "blue"
		cm, err = client.Update(task, c, client.ConfigMaps, "default", cm)
		w.must(err)
		e, _ := red.Recv(task)
		if e.Type != watch.Deleted || e.Object.(*corev1.ConfigMap).Labels["colour"] != "red" || object.FormatRevision(e.Revision) != cm.ResourceVersion {
			t.Errorf("got %v %v at %d, want DELETED of the red state at %s", e.Type, e.Object.(*corev1.ConfigMap).Labels, e.Revision, cm.ResourceVersion)
		}

		p, err := client.Create(task, c, client.Pods, "default", pod("web"))
		w.must(err)
		expect(t, next(task, free), "ADDED web@"+p.ResourceVersion)
		_, err = c.CreateSub(task, client.Pods, "default", "web", "binding", &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Target: corev1.ObjectReference{Name: "node-1"}})
		w.must(err)
		rev := w.s.Store().Revision()
		expect(t, next(task, mine), fmt.Sprintf("ADDED web@%d", rev))
		expect(t, next(task, free), fmt.Sprintf("DELETED web@%d", rev))
		items, _, err := c.List(task, client.Pods, "default", metav1.ListOptions{FieldSelector: "spec.nodeName=node-1"})
		w.must(err)
		if len(items) != 1 {
			t.Errorf("%d pods on node-1, want 1", len(items))
		}
		task.Sleep(time.Second)
		if n := other.(*cacher.Watcher).Len(); n != 0 {
			t.Errorf("the watch of node-2 has %d events, want none", n)
		}
	})
}

// TestSlowWatcher: a client that does not read loses its watch once its buffer is
// full and the server has waited as long as it may; it delays nobody else, and what it
// missed it gets by watching again from where it was.
func TestSlowWatcher(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		task.Sleep(10 * time.Second) // in which the time that may be waited grows to its most
		slow := w.open(task, client.ConfigMaps, "default", metav1.ListOptions{}).(*cacher.Watcher)
		quick := w.open(task, client.ConfigMaps, "default", metav1.ListOptions{})
		expect(t, fmt.Sprint(slow.Room()), "29") // a window of 1024 events in 75 s: two channels of 14, and one event between them
		var filled time.Duration
		var written []string // revisions
		for i := range slow.Room() + 1 {
			if slow.Closed() {
				t.Fatalf("the watch has ended after %d events", i)
			}
			before := task.Elapsed()
			cm := w.put(task, "a", strconv.Itoa(i))
			filled = task.Elapsed()
			kind := "MODIFIED"
			if i == 0 {
				kind = "ADDED"
			}
			expect(t, next(task, quick), kind+" a@"+cm.ResourceVersion)
			if took := task.Elapsed() - before; took > 20*time.Millisecond {
				t.Errorf("the quick client waited %v", took)
			}
			written = append(written, cm.ResourceVersion)
		}
		for !slow.Closed() && task.Elapsed() < filled+time.Second {
			task.Sleep(time.Millisecond)
		}
		if waited := task.Elapsed() - filled; waited < 100*time.Millisecond || waited > 100*time.Millisecond+10*time.Millisecond {
			t.Errorf("the server waited %v for the slow client; want what it may, %v", waited, 100*time.Millisecond)
		}
		if why := whyClosed(w); !strings.Contains(why, "too slow: 30 events waited for it, its buffer holds 29 (two channels of 14), and after 100ms") {
			t.Errorf("the trace does not tell why the watch ended: %q", why)
		}
		// Its client goes on from the newest event that it has read: the last is missing.
		again := w.open(task, client.ConfigMaps, "default", metav1.ListOptions{ResourceVersion: written[len(written)-2]})
		expect(t, next(task, again), "MODIFIED a@"+written[len(written)-1])
	})
}

// TestBusyWatcher: a client keeps a watch that begins with more objects than its buffer
// holds.
func TestBusyWatcher(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		for i := range 200 {
			w.put(task, "first-"+strconv.Itoa(i), "1")
		}
		busy := w.open(task, client.ConfigMaps, "default", metav1.ListOptions{}).(*cacher.Watcher)
		one := w.put(task, "one", "1")
		if task.Sleep(time.Minute); busy.Closed() {
			t.Fatal("the watch ended because of the objects that it began with: " + whyClosed(w))
		}
		for range 200 {
			next(task, busy)
		}
		expect(t, next(task, busy), "ADDED one@"+one.ResourceVersion)
		busy.Stop()
	})
}

// whyClosed is why the last watch ended.
func whyClosed(w *world) (why string) {
	for _, e := range w.sink.events {
		if p, ok := e.Payload.(*trace.Watch); ok && e.Kind == trace.WatchClosed {
			why = p.Reason
		}
	}
	return why
}

// TestPages: a list in pages is one state, though the store moves on.
func TestPages(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		for _, n := range []string{"a", "b", "c", "d", "e"} {
			w.put(task, n, "1")
		}
		req := func(opts metav1.ListOptions) *request.Response {
			u := authn.Admin()
			return w.s.Handle(task, &request.Request{Verb: "list", Resource: client.ConfigMaps.GroupVersionResource, Namespace: "default", User: &u, List: opts})
		}
		names := func(r *request.Response) string {
			w.must(r.Err)
			var out []string
			for _, o := range r.Items {
				out = append(out, object.Meta(o).GetName())
			}
			return strings.Join(out, " ")
		}
		page := req(metav1.ListOptions{Limit: 2})
		expect(t, names(page), "a b")
		if r := page.ListMeta.RemainingItemCount; r == nil || *r != 3 {
			t.Errorf("remaining %v, want 3", r)
		}
		w.put(task, "bb", "new")
		w.must(w.admin().Delete(task, client.ConfigMaps, "default", "d", metav1.DeleteOptions{}))
		page = req(metav1.ListOptions{Limit: 2, Continue: page.ListMeta.Continue})
		expect(t, names(page), "c d")
		token := page.ListMeta.Continue
		page = req(metav1.ListOptions{Limit: 2, Continue: token})
		expect(t, names(page), "e")
		expect(t, page.ListMeta.Continue, "")

		w.must(w.st.Compact(task, w.s.Store().Revision()))
		gone := req(metav1.ListOptions{Limit: 2, Continue: token})
		if !apierrors.IsResourceExpired(gone.Err) {
			t.Errorf("a page of a compacted revision gave %v, want 410", gone.Err)
		}
		if r := req(metav1.ListOptions{ResourceVersion: "999999", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}); !apierrors.IsTimeout(r.Err) {
			t.Errorf("a revision of the future gave %v, want a timeout", r.Err)
		}
	})
}
