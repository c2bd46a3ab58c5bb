package cacher

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/mvccpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/storage"
)

// feeder puts objects into a cache as the store would tell of them.
type feeder struct {
	t        *testing.T
	c        *Cache
	revision int64
	created  map[string]int64
}

func feed(t *testing.T, k *registry.Kind) *feeder {
	cfg := &Config{Transformer: func(*registry.Kind) *encrypt.Transformer { return &encrypt.Transformer{} }}
	f := &feeder{t: t, c: New(cfg, k), created: map[string]int64{}}
	f.c.window.start(0)
	return f
}

// took is one event taken in; obj nil deletes.
func (f *feeder) took(key string, obj runtime.Object) *change {
	f.t.Helper()
	f.revision++
	e := &mvccpb.Event{Type: mvccpb.DELETE, Kv: &mvccpb.KeyValue{Key: []byte(f.c.Kind.Prefix + key), ModRevision: f.revision}}
	if obj == nil {
		delete(f.created, key)
	} else {
		if f.created[key] == 0 {
			f.created[key] = f.revision
		}
		e.Kv.CreateRevision = f.created[key]
		value, err := registry.Encode(f.c.Kind, obj)
		if err != nil {
			f.t.Fatal(err)
		}
		e.Type, e.Kv.Value = mvccpb.PUT, value
		en, err := Decode(f.c.Kind, e.Kv)
		if err != nil {
			f.t.Fatal(err)
		}
		f.c.decoded[key] = en
	}
	changes := f.c.incoming(nil, storage.Batch{Revision: f.revision, Events: []*mvccpb.Event{e}})
	if len(changes) != 1 {
		f.t.Fatalf("%s was not taken in", key)
	}
	ch := changes[0]
	f.c.apply(ch)
	f.c.window.add(ch)
	f.c.cool()
	return ch
}

func (f *feeder) newest(key string) *Entry {
	en, _ := f.c.items.Get(key)
	return en
}

func pod(name, message string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}, Status: corev1.PodStatus{Message: message}}
}

func event(name string) *corev1.Event {
	return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}, Reason: "Pulled", Message: "of " + name}
}

// What a window remembers from long ago is its bytes, read again for a watch that begins there.
func TestOldStatesInTheWindowAreBytes(t *testing.T) {
	f := feed(t, registry.KindFor(client.Pods.GroupVersionResource))
	first := f.took("demo/web", pod("web", "first"))
	second := f.took("demo/web", pod("web", "second"))
	gone := f.took("demo/web", nil)
	given := second.prev // to somebody who keeps it
	for i := range warm {
		f.took("demo/other", pod("other", fmt.Sprint(i)))
	}
	if first.now.Object != nil || second.prev.Object != nil || second.now.Object != nil || gone.prev.Object != nil {
		t.Errorf("still decoded: %v %v %v %v", first.now.Object, second.prev.Object, second.now.Object, gone.prev.Object)
	}
	if first.now != second.prev || second.now != gone.prev {
		t.Error("two changes have the same state twice")
	}
	if given.Object == nil {
		t.Error("an entry that somebody had was emptied")
	}
	if hot := f.newest("demo/other"); hot.Object == nil {
		t.Error("the newest state of a pod is not there decoded")
	}

	want, err := NewSelector(f.c.Kind, "demo", "", &metav1.ListOptions{FieldSelector: "status.phase!=Failed"})
	if err != nil {
		t.Fatal(err)
	}
	begins, err := f.c.initial(want, WatchOptions{From: 1})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range begins.choose()[:2] {
		got = append(got, fmt.Sprint(d.kind, " ", d.ref.Name, " ", d.obj.(*corev1.Pod).Status.Message, " ", d.revision))
	}
	if diff := cmp.Diff([]string{"MODIFIED web second 2", "DELETED web second 3"}, got); diff != "" {
		t.Error(diff)
	}
}

// Events are read by nobody until somebody lists them: of old ones there are the bytes,
// whatever happens to them then.
func TestOldEventsAreBytes(t *testing.T) {
	f := feed(t, registry.KindFor(client.Events.GroupVersionResource))
	for i := range warm + 3 {
		f.took(fmt.Sprintf("demo/e%d", i), event(fmt.Sprintf("e%d", i)))
	}
	for i, cold := range []bool{true, true, true, false} {
		if en := f.newest(fmt.Sprintf("demo/e%d", i)); cold != (en.Object == nil) {
			t.Errorf("event %d: decoded %v, want %v", i, en.Object != nil, !cold)
		}
	}
	if got := f.c.Taken("demo/e0").(*corev1.Event); got.Message != "of e0" || got.ResourceVersion != "1" {
		t.Errorf("read again it is %+v", got)
	}
	if ref, _ := f.c.Describe(&mvccpb.Event{Type: mvccpb.DELETE, Kv: &mvccpb.KeyValue{Key: []byte(f.c.Kind.Prefix + "demo/e1")}}); ref.Name != "e1" {
		t.Errorf("its deletion is described as of %v", ref)
	}
	changed := f.took("demo/e2", event("e2"))
	if changed.prev.object().(*corev1.Event).Message != "of e2" {
		t.Error("a cold event has no state before its change")
	}
	if changed.kind != watch.Modified || changed.key != "demo/e2" {
		t.Errorf("a change of a cold event is %s of %s", changed.kind, changed.key)
	}
	gone := f.took("demo/e1", nil)
	if got := gone.now.object().(*corev1.Event); got.Name != "e1" || got.ResourceVersion != fmt.Sprint(f.revision) {
		t.Errorf("deleted was %+v", got)
	}
	if again := f.took("demo/e1", event("e1")); again.kind != watch.Added || again.prev != nil {
		t.Errorf("made again it is %s, after %v", again.kind, again.prev)
	}
}

// No change is kept by what came after it once it has left the window.
func TestNothingKeepsAChangeThatLeftTheWindow(t *testing.T) {
	f := feed(t, registry.KindFor(client.Pods.GroupVersionResource))
	f.c.window.init(4)
	old := f.took("demo/still", pod("still", ""))
	a := f.took("demo/web", pod("web", "0"))
	b := f.took("demo/web", pod("web", "1"))
	if b.before != a {
		t.Error("a change does not know the one before it")
	}
	for i := range 4 {
		f.took("demo/web", pod("web", fmt.Sprint(i)))
	}
	if f.newest("demo/still").by != nil || old.before != nil || b.before != nil {
		t.Error("a change that left the window is kept")
	}
}
