package trace_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/trace"
)

// fill sets every field of a payload to something.
func fill(v reflect.Value, n *int64) {
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		if v.Type() == reflect.TypeFor[*trace.Object]() {
			v.Set(reflect.ValueOf(trace.Obj(aPod(*n))))
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(*n, *n).UTC()))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), n)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Map:
		m := reflect.MakeMap(v.Type())
		for range 2 {
			k, x := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(k, n)
			fill(x, n)
			m.SetMapIndex(k, x)
		}
		v.Set(m)
	case reflect.String:
		v.SetString("text-" + time.Duration(*n).String())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(*n)
	case reflect.Uint32, reflect.Uint64, reflect.Uint8:
		v.SetUint(uint64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) / 4)
	default:
		panic("a payload has a field of kind " + v.Kind().String())
	}
}

func aPod(n int64) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "demo", Generation: n, Labels: map[string]string{"b": "2", "a": "1", "c": "3"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("64Mi")},
		}}}},
	}
}

// everyKind is one event of every kind, every field filled.
func everyKind() []*trace.Event {
	var events []*trace.Event
	var n int64
	id := trace.ID{}
	for _, in := range trace.Kinds() {
		e := &trace.Event{
			Kind: in.Kind, At: time.Duration(n) * time.Millisecond, Lane: trace.Lane{Component: "kubelet", Instance: "node-1"},
			Object: trace.Ref{APIVersion: "v1", Kind: "Pod", Namespace: "demo", Name: "web", UID: "u"},
		}
		if !id.IsZero() {
			e.Causes = []trace.ID{id, {Seq: 1, Sub: 7}}
		}
		if in.Outside {
			id.Sub++
		} else {
			id = trace.ID{Seq: id.Seq + 1}
		}
		e.ID = id
		if p := in.NewPayload(); p != nil {
			fill(reflect.ValueOf(p).Elem(), &n)
			e.Payload = p
		}
		events = append(events, e)
	}
	return events
}

func record(t testing.TB, events []*trace.Event) []byte {
	t.Helper()
	var file bytes.Buffer
	r, err := trace.NewRecorder(&file, header)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		r.Append(e)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

var header = trace.Header{Version: "v0.1.0", Seed: 7, Epoch: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Store: "raft", Members: 3, Nodes: 3, Inputs: []string{"kubectl apply -f hello.yaml"}}

// read reads until something ends it.
func read(in io.Reader) (trace.Header, []*trace.Event, error) {
	r, err := trace.NewReader(in)
	if err != nil {
		return trace.Header{}, nil, err
	}
	defer r.Close()
	var events []*trace.Event
	for {
		e, err := r.Next()
		if err != nil {
			return r.Header(), events, err
		}
		events = append(events, e)
	}
}

var ignorePlaces = cmpopts.IgnoreUnexported(trace.Object{})

func TestEveryKindSurvivesARecording(t *testing.T) {
	events := everyKind()
	got, back, err := read(bytes.NewReader(record(t, events)))
	if err != io.EOF {
		t.Fatalf("reading ended with %v, want io.EOF", err)
	}
	if diff := cmp.Diff(header, got); diff != "" {
		t.Errorf("header (-written +read):\n%s", diff)
	}
	if len(back) != len(events) {
		t.Fatalf("wrote %d events, read %d", len(events), len(back))
	}
	for i, e := range events {
		if diff := cmp.Diff(e, back[i], ignorePlaces); diff != "" {
			t.Errorf("%s (-written +read):\n%s", e.Kind, diff)
		}
	}
}

// An object that many events share is written once and shared again when read.
func TestSharedObjectsStayShared(t *testing.T) {
	pod := trace.Obj(aPod(1))
	var events []*trace.Event
	for i := range 100 {
		events = append(events, &trace.Event{ID: trace.ID{Seq: uint64(i + 1)}, Kind: trace.WatchDelivered, Payload: &trace.WatchEvent{Type: "ADDED", Object: pod}})
	}
	_, back, err := read(bytes.NewReader(record(t, events)))
	if err != io.EOF {
		t.Fatal(err)
	}
	first := back[0].Payload.(*trace.WatchEvent).Object
	for _, e := range back {
		if e.Payload.(*trace.WatchEvent).Object != first {
			t.Fatalf("event %s has an object of its own", e.ID)
		}
	}
}

func TestATruncatedRecordingIsReadToItsLastWholeBlock(t *testing.T) {
	var events []*trace.Event
	for i := range 10_000 {
		events = append(events, &trace.Event{
			ID: trace.ID{Seq: uint64(i + 1)}, Kind: trace.QueueAdd,
			Payload: &trace.QueueItem{Queue: "replicaset", Key: "demo/web", Ready: i},
		})
	}
	whole := record(t, events)
	ends := map[int]bool{0: true, len(events): true} // the first blocks are small
	for n, size, blocks := 0, 256, 0; n < len(events); blocks++ {
		if blocks >= 8 {
			size = min(2*size, 4096)
		}
		n += size
		ends[n] = true
	}
	was := len(events)
	for cut := len(whole) - 1; cut > 0; cut -= 997 {
		_, back, err := read(bytes.NewReader(whole[:cut]))
		if !errors.Is(err, trace.ErrTruncated) && !errors.Is(err, trace.ErrNotRecording) {
			t.Fatalf("cut at %d of %d: %v", cut, len(whole), err)
		}
		if len(back) > was {
			t.Fatalf("cut at %d gives %d events, a longer file gave %d", cut, len(back), was)
		}
		if was = len(back); !ends[was] {
			t.Fatalf("cut at %d gives %d events, which is no block's end", cut, was)
		}
		for i, e := range back {
			if e.Payload.(*trace.QueueItem).Ready != i {
				t.Fatalf("cut at %d: event %d is wrong", cut, i)
			}
		}
	}
}

func TestAChangedByteIsNoticed(t *testing.T) {
	whole := record(t, everyKind())
	for at := 0; at < len(whole)-12; at += 7 {
		bad := bytes.Clone(whole)
		bad[at] ^= 0x41
		h, _, err := read(bytes.NewReader(bad))
		if err == io.EOF && cmp.Equal(h, header) {
			t.Errorf("byte %d of %d was changed and nobody noticed", at, len(whole))
		}
	}
}

func TestANewerRecordingIsRefusedWithWhatIsKnown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.kviz")
	file := record(t, everyKind())
	file[8] = 99
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	h, events, err := trace.ReadAll(path)
	var newer *trace.NewerError
	if !errors.As(err, &newer) || len(events) > 0 {
		t.Fatalf("got %d events and %v", len(events), err)
	}
	if h.Seed != header.Seed || !strings.Contains(err.Error(), "format 99") || !strings.Contains(err.Error(), "v0.1.0") {
		t.Errorf("header %+v, error %q", h, err)
	}
	if _, _, err := trace.ReadAll(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file gives %v", err)
	}
	_, _, err = read(strings.NewReader("apiVersion: v1\nkind: Pod\n"))
	if !errors.Is(err, trace.ErrNotRecording) {
		t.Errorf("a manifest gives %v", err)
	}
}

type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(b), nil
}

func TestAFullDiskEndsTheRecordingAndNothingElse(t *testing.T) {
	r, err := trace.NewRecorder(&full{left: 300}, header)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range everyKind() {
		r.Append(e)
	}
	if err := r.Close(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("Close gives %v", err)
	}
}

func TestHashCountsWhatTheSeedDecides(t *testing.T) {
	hash := func(events []*trace.Event) string {
		h, err := trace.Hash(events)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	want := hash(everyKind())
	// The raft lane went another way: other messages, other log indexes, other
	// outside causes.
	var other []*trace.Event
	for _, e := range everyKind() {
		c := *e
		if e.Outside() {
			if e.Kind == trace.RaftSend {
				continue
			}
			c.At++
		} else if len(c.Causes) > 0 {
			c.Causes = append(append([]trace.ID(nil), c.Causes[0]), trace.ID{Seq: 3, Sub: 99})
			if c.Causes[0].Sub > 0 {
				c.Causes = c.Causes[1:]
			}
		}
		if p, ok := c.Payload.(*trace.Commit); ok {
			q := *p
			q.Index += 5
			c.Payload = &q
		}
		other = append(other, &c)
	}
	if got := hash(other); got != want {
		t.Errorf("another raft lane changed the hash")
	}
	// Anything else counts.
	for i, e := range everyKind() {
		if e.Outside() {
			continue
		}
		events := everyKind()
		c := *e
		c.Object.Name = "other"
		events[i] = &c
		if hash(events) == want {
			t.Errorf("another object in %s did not change the hash", e.Kind)
		}
	}
	// A recording keeps the hash.
	_, back, _ := read(bytes.NewReader(record(t, everyKind())))
	if hash(back) != want {
		t.Error("reading a recording back changed the hash")
	}
}

func TestTextIsOneLineAnEvent(t *testing.T) {
	var out strings.Builder
	err := trace.Text(&out, []*trace.Event{
		{ID: trace.ID{Seq: 213}, At: 1202 * time.Millisecond, Lane: trace.Lane{Component: "scheduler"}, Kind: trace.SchedCycle, Object: trace.Ref{Kind: "Pod", Namespace: "demo", Name: "web-1"}},
		{ID: trace.ID{Seq: 214, Sub: 2}, At: 1203 * time.Millisecond, Lane: trace.Lane{Component: "member", Instance: "b"}, Kind: trace.RaftSend, Causes: []trace.ID{{Seq: 201}, {Seq: 213}}},
	}, func(e *trace.Event) string { return "in words" })
	if err != nil {
		t.Fatal(err)
	}
	const want = `#213 1.202s scheduler sched.cycle Pod demo/web-1: in words
#214.2 1.203s member/b raft.send: in words ← #201 #213
`
	if out.String() != want {
		t.Errorf("got:\n%swant:\n%s", out.String(), want)
	}
}

// No payload holds objects in a place that a recording does not know of.
func TestObjectsAreOnlyWhereRecordingsLookForThem(t *testing.T) {
	known := map[string]bool{"Request.Body": true, "Response.Object": true, "WatchEvent.Object": true, "Commit.Changes.Value": true}
	var walk func(reflect.Type, string)
	walk = func(ty reflect.Type, path string) {
		switch ty.Kind() {
		case reflect.Pointer:
			if ty == reflect.TypeFor[*trace.Object]() {
				if !known[path] {
					t.Errorf("%s is an object; add it to objectFields and detach in codec.go", path)
				}
				return
			}
			walk(ty.Elem(), path)
		case reflect.Slice, reflect.Map:
			walk(ty.Elem(), path)
		case reflect.Struct:
			if ty == reflect.TypeFor[time.Time]() {
				return
			}
			for i := range ty.NumField() {
				walk(ty.Field(i).Type, path+"."+ty.Field(i).Name)
			}
		case reflect.Interface:
			if ty != reflect.TypeFor[runtime.Object]() {
				t.Errorf("%s is an interface, which a recording cannot read back", path)
			}
		}
	}
	for _, in := range trace.Kinds() {
		if p := in.NewPayload(); p != nil {
			ty := reflect.TypeOf(p).Elem()
			walk(ty, ty.Name())
		}
	}
}

func FuzzReader(f *testing.F) {
	whole := record(f, everyKind())
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(record(f, nil))
	f.Add([]byte("kviztrc\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, events, err := read(bytes.NewReader(data))
		if err == nil {
			t.Fatal("reading ended without a reason")
		}
		for i := 1; i < len(events); i++ {
			if events[i].ID.Compare(events[i-1].ID) <= 0 {
				t.Fatalf("event %s after %s", events[i].ID, events[i-1].ID)
			}
		}
	})
}

func BenchmarkRecord(b *testing.B) {
	r, err := trace.NewRecorder(io.Discard, header)
	if err != nil {
		b.Fatal(err)
	}
	e := &trace.Event{ID: trace.ID{Seq: 1}, Kind: trace.QueueAdd, Payload: &trace.QueueItem{Queue: "replicaset", Key: "demo/web"}}
	for b.Loop() {
		r.Append(e)
	}
	r.Close()
}
