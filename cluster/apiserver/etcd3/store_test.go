package etcd3

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
	"kviz/raftstore"
)

// stages keeps what a test's requests told of themselves.
type stages struct{ notes []string }

func (s *stages) Append(e *trace.Event) {
	if st, ok := e.Payload.(*trace.Stage); ok {
		s.notes = append(s.notes, st.Note)
	}
}

var kind = registry.KindFor(client.ConfigMaps.GroupVersionResource)

// colours is where the tests' object is.
var colours = Key{Kind: kind, Namespace: "default", Name: "colours"}

func configMap(value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "colours", UID: "u1"},
		Data: map[string]string{"sky": value},
	}
}

// tell runs a story over a bare store: begin makes the scope of a request.
func tell(t *testing.T, story func(s *Store, begin func() *request.Scope, said *stages)) {
	t.Helper()
	said := &stages{}
	k := sim.New(sim.Config{Seed: 1, Sink: said})
	clock := storage.NewClock(k)
	bare := raftstore.OpenBareWith(raftstore.Config{Clock: clock})
	defer bare.Close()
	st := storage.New(k, bare)
	st.Use(clock)
	p := k.NewProcess(trace.Lane{Component: trace.CompAPIServer})
	conn := st.Connect("apiserver")
	plain := func(*registry.Kind) *encrypt.Transformer { return &encrypt.Transformer{} }
	cache := cacher.New(&cacher.Config{Process: p, Store: conn, Transformer: plain, Wires: &cacher.Wires{}}, kind)
	p.Go("watch-cache", cache.Run)
	p.Go("story", func(task *sim.Task) {
		defer k.Stop()
		cache.AwaitFilled(task)
		requests := uint64(0)
		begin := func() *request.Scope {
			requests++
			r := request.NewScope(task, requests)
			return &r
		}
		story(&Store{Conn: conn, Caches: func(*registry.Kind) *cacher.Cache { return cache }, Sealed: plain}, begin, said)
	})
	if err := k.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// Two writers begin with the same object. The store compares the revision that each has
// seen, so the second one's transaction changes nothing, and he begins again with what is
// there now: that is all of optimistic concurrency.
func TestTheSecondOfTwoWritersBeginsAgain(t *testing.T) {
	tell(t, func(s *Store, begin func() *request.Scope, said *stages) {
		made, err := s.Create(begin(), colours, configMap("grey"), Writer{})
		if err != nil {
			t.Fatal(err)
		}
		first, second := begin(), begin()
		old, err := s.Current(first, colours, true)
		if err != nil || object.FormatRevision(old.Revision) != object.Meta(made.Object).GetResourceVersion() {
			t.Fatalf("read revision %v, %v; made %v", old, err, object.Meta(made.Object).GetResourceVersion())
		}
		also, err := s.Current(second, colours, true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Update(first, colours, configMap("blue"), old, Writer{}); err != nil {
			t.Fatalf("the first: %v", err)
		}
		if _, err := s.Update(second, colours, configMap("black"), also, Writer{}); !errors.Is(err, ErrStale) {
			t.Fatalf("the second: %v, want that it is stale", err)
		}
		now, err := s.Current(second, colours, true)
		if err != nil || now.Object.(*corev1.ConfigMap).Data["sky"] != "blue" {
			t.Fatalf("the second finds %v, %v, want what the first wrote", now, err)
		}
		if _, err := s.Update(second, colours, configMap("black"), now, Writer{}); err != nil {
			t.Errorf("the second, again: %v", err)
		}
	})
}

// A name is taken once; the refusal is Kubernetes' own.
func TestANameIsTakenOnce(t *testing.T) {
	tell(t, func(s *Store, begin func() *request.Scope, _ *stages) {
		if _, err := s.Create(begin(), colours, configMap("grey"), Writer{}); err != nil {
			t.Fatal(err)
		}
		for _, by := range []Writer{{}, {DryRun: true}} {
			if _, err := s.Create(begin(), colours, configMap("blue"), by); !apierrors.IsAlreadyExists(err) || err.Error() != `configmaps "colours" already exists` {
				t.Errorf("%+v: %v", by, err)
			}
		}
	})
}

// An update that changes nothing is no write: the revision stays, and no watcher hears of it.
// A dry run is none either, and says so.
func TestWhatIsNoWrite(t *testing.T) {
	tell(t, func(s *Store, begin func() *request.Scope, said *stages) {
		if _, err := s.Create(begin(), colours, configMap("grey"), Writer{}); err != nil {
			t.Fatal(err)
		}
		old, err := s.Current(begin(), colours, true)
		if err != nil {
			t.Fatal(err)
		}
		before := s.Conn.Revision()
		for _, x := range []struct {
			sky  string
			by   Writer
			note string
		}{
			{"grey", Writer{}, "The object is as it was; nothing is written."},
			{"blue", Writer{DryRun: true}, "Dry run: nothing is written."},
		} {
			if _, err := s.Update(begin(), colours, configMap(x.sky), old, x.by); err != nil {
				t.Fatal(err)
			}
			if last := said.notes[len(said.notes)-1]; last != x.note || s.Conn.Revision() != before {
				t.Errorf("%s, %+v: %q at revision %d, want %q at %d", x.sky, x.by, last, s.Conn.Revision(), x.note, before)
			}
		}
	})
}

// A read of resourceVersion=0 takes what the watch cache has; any other list asks the store
// how far it is, and so sees a write that was answered before.
func TestAListSeesWhatWasAnswered(t *testing.T) {
	tell(t, func(s *Store, begin func() *request.Scope, _ *stages) {
		made, err := s.Create(begin(), colours, configMap("grey"), Writer{})
		if err != nil {
			t.Fatal(err)
		}
		list, err := s.GetList(begin(), Range{Kind: kind}, metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 || list.Meta.ResourceVersion != object.Meta(made.Object).GetResourceVersion() {
			t.Errorf("%+v, %v; made at %s", list, err, object.Meta(made.Object).GetResourceVersion())
		}
		old, err := s.Current(begin(), colours, true)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(begin(), colours, old, Writer{}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(begin(), colours, ""); !apierrors.IsNotFound(err) {
			t.Errorf("after the deletion: %v", err)
		}
		if list, err := s.GetList(begin(), Range{Kind: kind, Namespace: "default"}, metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
			t.Errorf("after the deletion: %+v, %v", list, err)
		}
	})
}

// The check of the store asks once a second at most: who comes earlier hears what the last
// one came to.
func TestTheProbeAsksOnceASecond(t *testing.T) {
	tell(t, func(s *Store, begin func() *request.Scope, _ *stages) {
		task, p := begin().Task, &Probe{Conn: s.Conn}
		for _, pause := range []time.Duration{0, probeEvery / 2, probeEvery} {
			task.Sleep(pause)
			before, never := p.last, !p.asked
			if err := p.Ask(task); err != nil {
				t.Error(err)
			}
			if asked := never || p.last != before; asked != (pause != probeEvery/2) {
				t.Errorf("after %v more it asked: %v", pause, asked)
			}
		}
	})
}
