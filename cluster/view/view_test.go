package view_test

import (
	"flag"
	"os"
	"reflect"
	"sort"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/raftstore/steady"
)

// A state is compared field by field, which takes a while: fewer checks than
// rapid's 100 unless more are asked for.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		f.Value.Set("15")
	}
	os.Exit(m.Run())
}

// dump is everything a state says through its accessors, comparable.
func dump(s *view.State) map[string]any {
	out := map[string]any{}
	var visit func(path string, v reflect.Value, depth int)
	visit = func(path string, v reflect.Value, depth int) {
		if depth > 9 {
			panic("too deep: " + path)
		}
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if v.IsNil() {
				return
			}
			if o, ok := v.Interface().(runtime.Object); ok {
				out[path] = o // compared as a pointer: objects are shared
				return
			}
			if v.Kind() == reflect.Pointer && v.Type().Elem().PkgPath() == "kviz/cluster/trace" {
				out[path] = v.Interface() // events and payloads are shared too
				return
			}
			list(path, v, visit, depth)
			visit(path, v.Elem(), depth+1)
		case reflect.Struct:
			for i := range v.NumField() {
				f := v.Type().Field(i)
				if f.IsExported() {
					visit(path+"."+f.Name, v.Field(i), depth+1)
				}
			}
		case reflect.Slice:
			out[path+"#"] = v.Len()
			for i := range v.Len() {
				visit(path+"["+number(i)+"]", v.Index(i), depth+1)
			}
		default:
			out[path] = v.Interface()
		}
	}
	visit("", reflect.ValueOf(s), 0)
	store := &s.Store
	visit("store", reflect.ValueOf(store), 0)
	visit("sched", reflect.ValueOf(&s.Scheduler), 0)
	visit("objects", reflect.ValueOf(s.Objects("pods", "")), 0)
	visit("children", reflect.ValueOf(s.Children("uid-rs")), 0)
	visit("families", reflect.ValueOf(s.Families("uid-rs")), 0)
	visit("unsettled", reflect.ValueOf(s.Unsettled("uid-rs", "pods", 1000)), 0)
	store.Keys("", func(k *view.Key) bool { visit("key"+k.Key, reflect.ValueOf(k), 0); return true })
	for _, o := range s.Objects("pods", "demo") {
		visit("about"+o.Name(), reflect.ValueOf(s.KubeEventsAbout(o.Ref)), 0)
	}
	for _, n := range s.Nodes() {
		for _, c := range n.Chains("nat") {
			visit("rules"+n.Name+c.Name, reflect.ValueOf(c.Rules()), 0)
		}
	}
	return out
}

// list visits what the methods without arguments return.
func list(path string, v reflect.Value, visit func(string, reflect.Value, int), depth int) {
	t := v.Type()
	var names []string
	for i := range t.NumMethod() {
		m := t.Method(i)
		if m.Type.NumIn() == 1 && m.Type.NumOut() == 1 && m.Type.Out(0).Kind() == reflect.Slice && t.Elem().PkgPath() == "kviz/cluster/view" {
			names = append(names, m.Name)
		}
	}
	sort.Strings(names)
	for _, n := range names {
		visit(path+"."+n+"()", v.MethodByName(n).Call(nil)[0], depth+1)
	}
}

func number(i int) string { return time.Duration(i).String() }

func same(t interface{ Fatalf(string, ...any) }, what string, want, got *view.State) {
	a, b := dump(want), dump(got)
	if reflect.DeepEqual(a, b) {
		return
	}
	for k := range a {
		if !reflect.DeepEqual(a[k], b[k]) {
			t.Fatalf("%s: %s is %v, folding from scratch gives %v", what, k, b[k], a[k])
		}
	}
	t.Fatalf("%s: it says more than folding from scratch:\n%s", what, cmp.Diff(len(a), len(b)))
}

// Any moment reached through a history is the one that folding from the start
// gives, whatever was looked at before and however the stream grew.
func TestAnyMomentIsAsFoldedFromScratch(t *testing.T) {
	events := madeUp(3, 3000)
	steady.Check(t, func(t *rapid.T) {
		s := trace.NewStream(0)
		h := view.NewHistory(s)
		sent := 0
		for sent < len(events) {
			n := rapid.IntRange(1, 1500).Draw(t, "append")
			for _, e := range events[sent:min(sent+n, len(events))] {
				s.Append(e)
			}
			sent = min(sent+n, len(events))
			h.CatchUp(rapid.IntRange(0, 900).Draw(t, "fold"))
		}
		h.CatchUp(0)
		for range 2 {
			pos := rapid.IntRange(0, len(events)-1).Draw(t, "look at")
			b := view.NewBuilder()
			for _, e := range events[:pos+1] {
				b.Apply(e)
			}
			got := h.At(uint64(pos))
			if got.Last != events[pos].ID {
				t.Fatalf("At(%d) is event %s, want %s", pos, got.Last, events[pos].ID)
			}
			same(t, "At", b.Mark(), got)
		}
	})
}

// A mark does not change, whatever is folded after it, on however many
// branches.
func TestAMarkNeverChanges(t *testing.T) {
	events := madeUp(5, 4000)
	b := view.NewBuilder()
	for _, e := range events[:2000] {
		b.Apply(e)
	}
	mark := b.Mark()
	before := dump(mark)
	done := make(chan *view.State)
	for range 3 { // branches, at the same time
		go func() {
			c := view.From(mark)
			for i, e := range events[2000:] {
				c.Apply(e)
				if i%100 == 0 {
					c.Mark()
				}
			}
			done <- c.Mark()
		}()
	}
	for _, e := range events[2000:] {
		b.Apply(e)
	}
	main := b.Mark()
	for range 3 {
		same(t, "branch", main, <-done)
	}
	if !reflect.DeepEqual(before, dump(mark)) {
		t.Error("the mark has changed")
	}
}

// Any of the last 100,000 events is reached by folding fewer than a thousand.
func TestReach(t *testing.T) {
	s := trace.NewStream(0)
	h := view.NewHistory(s)
	for _, e := range madeUp(1, 120_000) {
		s.Append(e)
	}
	h.CatchUp(0)
	for back := uint64(1); back < 100_000; back++ {
		if n, ok := view.Distance(h, s.Len()-back); !ok || n >= view.MarkEvery {
			t.Fatalf("%d events ago is reached by folding %d (%v)", back, n, ok)
		}
	}
	for back := uint64(10); back < 100_000; back += 4_999 {
		if st := h.At(s.Len() - back); st == nil || st.Last != s.Get(s.Len()-back).ID {
			t.Fatalf("%d events ago cannot be reached", back)
		}
	}
}

func BenchmarkReach(b *testing.B) {
	s := trace.NewStream(0)
	h := view.NewHistory(s)
	for _, e := range madeUp(1, 120_000) {
		s.Append(e)
	}
	h.CatchUp(0)
	for back := uint64(10); b.Loop(); back = 10 + (back+4_999)%100_000 {
		if st := h.At(s.Len() - back); st == nil {
			b.Fatalf("%d events ago cannot be reached", back)
		}
	}
}

// A stream that lets go of old events takes the history's marks along.
func TestHistoryIsBounded(t *testing.T) {
	s := trace.NewStream(5000)
	h := view.NewHistory(s)
	for i, e := range madeUp(2, 60_000) {
		s.Append(e)
		if i%700 == 0 {
			h.CatchUp(0)
		}
	}
	h.CatchUp(0)
	if h.Latest().Lost != 0 {
		t.Errorf("%d events lost although the history kept up", h.Latest().Lost)
	}
	if st := h.At(100); st != nil {
		t.Errorf("event 100 should be gone, got a state at %s", st.Last)
	}
	if first := h.First(); s.Len()-first < 4000 {
		t.Errorf("only %d events can be reached, want about 5000", s.Len()-first)
	}
	for pos := h.First(); pos < s.Len(); pos += 97 {
		if st := h.At(pos); st == nil || st.Last != s.Get(pos).ID {
			t.Fatalf("position %d cannot be reached", pos)
		}
	}
	if n := view.Marks(h); n > 9 {
		t.Errorf("%d marks kept for 5000 events", n)
	}
	for _, n := range []int{len(h.Latest().Requests()), len(h.Latest().Store.Commits()), len(h.Latest().Deleted()), len(h.Latest().Flows())} {
		if n > 512 {
			t.Errorf("a list has grown to %d", n)
		}
	}
}

// A history that comes late says what it has missed.
func TestALateHistorySaysWhatItMissed(t *testing.T) {
	s := trace.NewStream(1000)
	h := view.NewHistory(s)
	events := madeUp(2, 20_000)
	for _, e := range events {
		s.Append(e)
	}
	h.CatchUp(0)
	st := h.Latest()
	if st.Lost == 0 || st.Lost+st.Events != uint64(len(events)) {
		t.Errorf("folded %d and lost %d of %d", st.Events, st.Lost, len(events))
	}
	if st.Last != events[len(events)-1].ID {
		t.Errorf("stands at %s", st.Last)
	}
}

func BenchmarkFold(b *testing.B) {
	events := madeUp(1, 200_000)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		bl := view.NewBuilder()
		for i, e := range events {
			bl.Apply(e)
			if i%1000 == 999 {
				bl.Mark()
			}
		}
		n += len(events)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkHistory(b *testing.B) {
	events := madeUp(1, 200_000)
	n := 0
	for b.Loop() {
		s := trace.NewStream(0)
		h := view.NewHistory(s)
		for _, e := range events {
			s.Append(e)
		}
		h.CatchUp(0)
		n += len(events)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
}

// A member that was killed while its disk was full comes back without saying that there is room
// again: until a write is refused once more its disk is taken to be well.
func TestAMemberThatIsUpHasRoom(t *testing.T) {
	s := trace.NewStream(0)
	h := view.NewHistory(s)
	full := func() bool {
		h.CatchUp(0)
		return h.Latest().Store.Member("a").FullDisk != nil
	}
	seq := uint64(0)
	say := func(k trace.Kind, payload any) {
		seq++
		s.Append(&trace.Event{ID: trace.ID{Seq: seq}, Lane: trace.Lane{Component: trace.CompMember, Instance: "a"}, Kind: k, Payload: payload})
	}
	say(trace.MemberUp, &trace.MemberState{Member: "a", Role: "follower"})
	say(trace.MemberRoom, &trace.DiskRoom{Member: "a", Full: true, Error: "no space left on device"})
	if !full() {
		t.Error("a refused write is not known")
	}
	say(trace.MemberDown, &trace.MemberState{Member: "a", Reason: "killed"})
	say(trace.MemberUp, &trace.MemberState{Member: "a", Role: "follower"})
	if full() {
		t.Error("the disk is still full")
	}
}
