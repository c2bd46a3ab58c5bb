package timeline

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kviz/cluster/trace"
	"kviz/raftstore/steady"
	"kviz/tui/grid"
)

// story is a stream of n events a millisecond apart with marks at some.
func story(n int, limit int) *trace.Stream {
	s := trace.NewStream(limit)
	for i := range n {
		e := trace.Event{ID: trace.ID{Seq: uint64(i + 1)}, At: time.Duration(i) * time.Millisecond, Kind: trace.QueueAdd}
		switch i {
		case 10:
			e.Kind, e.Payload = trace.MemberRole, &trace.MemberState{Member: "a", Role: "leader", Term: 2}
		case 11:
			e.Kind, e.Payload = trace.MemberRole, &trace.MemberState{Member: "b", Role: "follower", Term: 2}
		case 50:
			e.Kind, e.Payload = trace.CommandStart, &trace.Command{Line: "kubectl get pods"}
		case 51:
			e.Kind, e.Payload = trace.FaultInjected, &trace.Fault{Fault: "stop", Target: "member/a"}
		case 700:
			e.Kind, e.Payload = trace.FaultHealed, &trace.Fault{Fault: "start", Target: "member/a"}
		}
		s.Append(&e)
	}
	return s
}

// Who leaves is asked first if they have changed something: by mending it too, by bringing a
// backup back, by writing with etcdctl; not by asking.
func TestWhatTouchesTheCluster(t *testing.T) {
	typed := func(line string) *trace.Event {
		return &trace.Event{Kind: trace.CommandStart, Payload: &trace.Command{Line: line}}
	}
	for _, e := range []*trace.Event{
		{Kind: trace.FaultInjected, Payload: &trace.Fault{Fault: "stop", Target: "member/a"}},
		{Kind: trace.FaultHealed, Payload: &trace.Fault{Fault: "add-voter", Target: "store"}},
		{Kind: trace.StoreRestored, Payload: &trace.Restore{Revision: 7}},
		typed("etcdctl put k v"), typed("kubectl get ns; etcdctl --user root del k"), typed("etcdctl alarm disarm"),
		typed("etcdctl member add x --learner"), typed("etcdctl lease grant 10"), typed("etcdctl txn"),
	} {
		if !touches(e) {
			t.Errorf("%s %v changes nothing", e.Kind, e.Payload)
		}
	}
	for _, e := range []*trace.Event{
		typed("etcdctl get k"), typed("etcdctl endpoint status"), typed("etcdctl member list"), typed("etcdctl watch k"), typed("kubectl get pods"),
		{Kind: trace.Ready},
	} {
		if touches(e) {
			t.Errorf("%s %v changes something", e.Kind, e.Payload)
		}
	}
}

func said(marks []Mark) string {
	var out []string
	for _, m := range marks {
		out = append(out, string(m.Glyph)+" "+m.Words)
	}
	return strings.Join(out, ", ")
}

func TestMarksAreCommandsFaultsAndElections(t *testing.T) {
	s := story(1000, 0)
	var x Index
	x.Catch(s, 30) // in pieces, as the explorer does
	x.Catch(s, 5000)
	want := "★ a leads term 2, › kubectl get pods, ! broken: stop member/a, + mended: start member/a"
	if got := said(x.Marks()); got != want {
		t.Fatalf("marks\n%s\nwant\n%s", got, want)
	}
	for _, c := range []struct {
		pos           uint64
		before, after string
	}{
		{0, "", "a leads term 2"},
		{10, "", "kubectl get pods"},
		{51, "kubectl get pods", "mended: start member/a"},
		{700, "broken: stop member/a", ""},
		{999, "mended: start member/a", ""},
	} {
		b, _ := x.Before(c.pos)
		a, _ := x.After(c.pos)
		if b.Words != c.before || a.Words != c.after {
			t.Errorf("around %d lie %q and %q, want %q and %q", c.pos, b.Words, a.Words, c.before, c.after)
		}
	}
}

// Of marks in the same column the gravest is drawn, and is what a click means.
func TestAClickOnAMarkIsTheMarkThatIsDrawn(t *testing.T) {
	s := story(1000, 0)
	var x Index
	x.Catch(s, 5000)
	w := Where{Len: 1000, At: 999, Live: true}
	g := grid.New(100, 3)
	x.Draw(g.Area(), s, w)
	rows := strings.Split(g.Plane(), "\n")
	at := func(glyph string) int { return len([]rune(rows[0][:strings.Index(rows[0], glyph)])) }
	for glyph, want := range map[string]uint64{"★": 10, "!": 51, "+": 700} {
		m, ok := x.MarkAt(at(glyph), 100, s, w)
		if !ok || m.Pos != want {
			t.Errorf("a click on %s means %d (%v), want %d", glyph, m.Pos, ok, want)
		}
	}
	if strings.Contains(rows[0], "›") {
		t.Error("the command hides the fault that came right after it")
	}
	if m, ok := x.MarkAt(30, 100, s, w); ok {
		t.Errorf("a click beside all marks means %q", m.Words)
	}
}

// Marks and times of events that have left memory for good are forgotten or
// kept as the scrubber needs them.
func TestTheIndexForgetsMarksThatCannotBeReached(t *testing.T) {
	s := story(40, 600)
	var x Index
	x.Catch(s, 5000)
	for i := 40; i < 3000; i++ {
		s.Append(&trace.Event{ID: trace.ID{Seq: uint64(i + 1)}, At: time.Duration(i) * time.Millisecond, Kind: trace.QueueAdd})
		if i%100 == 0 {
			x.Catch(s, 5000)
		}
	}
	x.Catch(s, 5000)
	if s.Oldest() <= 10 {
		t.Fatalf("the stream still has event %d", s.Oldest())
	}
	if got := said(x.Marks()); got != "" {
		t.Errorf("it still leads to %s", got)
	}
	if at, ok := x.when(s, 1024); !ok || at != 1024*time.Millisecond {
		t.Errorf("event 1024 happened at %v (%v)", at, ok)
	}
}

// A click goes where the scrubber is then drawn: the column of the position that
// a column means is that column, the first means the oldest event, the last the
// newest.
func TestClicksAndColumnsAgree(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		width := rapid.IntRange(10, 250).Draw(r, "width")
		first := uint64(rapid.IntRange(0, 1_000_000).Draw(r, "first"))
		w := Where{First: first, Len: first + uint64(rapid.IntRange(1, 2_000_000).Draw(r, "n"))}
		if got := At(0, width, w); got != w.First {
			r.Fatalf("the first column means %d, want %d", got, w.First)
		}
		for _, c := range []int{width - 1, width, width + 50} {
			if got := At(c, width, w); got != w.Len-1 {
				r.Fatalf("column %d of %d means %d, want the newest, %d", c, width, got, w.Len-1)
			}
		}
		c := rapid.IntRange(-5, width-2).Draw(r, "column")
		pos := At(c, width, w)
		if pos < w.First || pos >= w.Len {
			r.Fatalf("column %d means %d, outside [%d,%d)", c, pos, w.First, w.Len)
		}
		if next := At(c+1, width, w); next < pos {
			r.Fatalf("column %d means %d, the one before %d", c+1, next, pos)
		}
		if c >= 0 && w.Len-w.First >= uint64(width) && column(pos, width, w) != c {
			r.Fatalf("column %d means %d, which is drawn in column %d", c, pos, column(pos, width, w))
		}
	})
}

func TestTheScrubberSaysWhere(t *testing.T) {
	s := story(1000, 0)
	var x Index
	x.Catch(s, 5000)
	for _, c := range []struct {
		where  Where
		column int
		says   string
	}{
		{Where{Len: 1000, At: 999, Live: true}, 79, "#1000 of #1000  0:00.999 NOW"},
		{Where{Len: 1000, At: 500}, 40, "#501 of #1000  0:00.500 PAST"},
		{Where{Len: 1000, At: 0}, 0, "#1 of #1000  0:00.000 PAST"},
		{Where{Len: 1000, At: 250, Playing: true, Mark: 751}, 20, "#251 of #1000  0:00.250 PAST ▶"},
		{Where{Len: 1000, At: 999}, 79, "PAST"},
	} {
		g := grid.New(80, 2)
		x.Draw(g.Area(), s, c.where)
		row := []rune(strings.Split(g.Plane(), "\n")[1])
		if !strings.Contains(string(row), c.says) {
			t.Errorf("at %d: %q does not say %q", c.where.At, string(row), c.says)
		}
		if row[c.column] != '●' {
			t.Errorf("at %d: the scrubber is not in column %d: %q", c.where.At, c.column, string(row))
		}
		if c.where.Mark > 0 && row[60] != '┃' {
			t.Errorf("the remembered moment is not in column 60: %q", string(row))
		}
	}
	g := grid.New(80, 2)
	x.Draw(g.Area(), trace.NewStream(0), Where{})
	if !strings.Contains(g.Plane(), "no events yet") {
		t.Errorf("without events it says %q", g.Plane())
	}
}
