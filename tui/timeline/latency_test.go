package timeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kviz/cluster/trace"
	"kviz/raftstore/steady"
	"kviz/tui/grid"
)

// outage is a run of 6 s in which a write is answered after 5 ms ten times a second, but
// for the time from 2 s to 3.8 s, in which one waits and none is committed.
func outage() *trace.Stream {
	s := trace.NewStream(0)
	seq := uint64(0)
	say := func(at time.Duration, k trace.Kind, payload any) {
		seq++
		s.Append(&trace.Event{ID: trace.ID{Seq: seq}, At: at, Kind: k, Payload: payload})
	}
	for i := range 60 {
		at := time.Duration(i) * 100 * time.Millisecond
		done := at + 5*time.Millisecond
		switch {
		case i == 20:
			done = 3800 * time.Millisecond
		case i > 20 && i < 38:
			continue
		}
		n := uint64(i + 1)
		say(at, trace.RequestReceived, &trace.Request{Request: n, Verb: "update", Resource: "leases"})
		say(at, trace.RequestReceived, &trace.Request{Request: 1000 + n, Verb: "get", Resource: "leases"})
		say(done, trace.StoreCommit, &trace.Commit{Revision: int64(n)})
		say(done, trace.RequestDone, &trace.Response{Request: n, Code: 200, Took: done - at})
	}
	return s
}

func lines(x *Index, s *trace.Stream, w Where, width, rows int) []string {
	g := grid.New(width, rows)
	x.Draw(g.Area(), s, w)
	return strings.Split(g.Plane(), "\n")
}

// The time in which no write was committed while one waited is a hole with its length in
// it, on every height and axis; what was answered after it stands high.
func TestAnOutageIsAHole(t *testing.T) {
	s := outage()
	var x Index
	x.Catch(s, 1<<20)
	w := Where{Len: s.Len(), At: s.Len() - 1, Live: true}
	for _, rows := range []int{2, 3, 4} {
		row := lines(&x, s, w, 120, rows)[min(rows-2, 1)]
		if !strings.Contains(row, "no write 1.8s") {
			t.Errorf("with %d rows the hole is not seen in %q", rows, row)
		}
		before, after, _ := strings.Cut(row, "no write 1.8s")
		if strings.TrimSpace(before) == "" || !strings.HasPrefix(strings.TrimLeft(after, " "), "▆") && !strings.ContainsAny(after, "▆▇█") {
			t.Errorf("with %d rows no high block follows the hole in %q", rows, row)
		}
		if strings.ContainsAny(before, "▄▅▆▇█") {
			t.Errorf("an answer after 5 ms stands high in %q", row)
		}
	}
	if narrow := lines(&x, s, w, 30, 4)[1]; !strings.Contains(narrow, "1.8s") {
		t.Errorf("in 30 columns the hole is not seen in %q", narrow)
	}
	for at := 2100 * time.Millisecond; at < 3700*time.Millisecond; at += 50 * time.Millisecond { // no mark stands on what is written there
		x.marks = []Mark{{Pos: 1, at: at, Glyph: '!', rank: 1}}
		if row := lines(&x, s, w, 120, 2)[0]; !strings.Contains(row, "no write 1.8s") {
			t.Errorf("what is written in the hole is covered: %q", row)
		}
	}
	x.marks = nil
	if clock := lines(&x, s, w, 120, 4)[2]; !strings.Contains(clock, "0:02") || !strings.Contains(clock, "0:05") {
		t.Errorf("the row of times says %q", clock)
	}
	if said := x.Turn(); !strings.Contains(said, "events") {
		t.Errorf("the next axis is %q", said)
	}
	if row := lines(&x, s, w, 120, 4)[1]; !strings.Contains(row, "╎") && !strings.Contains(row, "✗") {
		t.Errorf("on the axis of events nothing says that time was left out: %q", row)
	}
	x.Turn()
	if said := x.Turn(); x.axis != Lately || !strings.Contains(said, "last ten minutes") {
		t.Errorf("after three turns the axis is %q", said)
	}
}

// A write that was answered at once leaves no hole, nor does a time in which nobody wrote.
func TestRestIsNoHole(t *testing.T) {
	s := outage()
	var x Index
	x.Catch(s, 1<<20)
	s.Append(&trace.Event{ID: trace.ID{Seq: 5000}, At: 20 * time.Second, Kind: trace.QueueAdd})
	x.Catch(s, 1<<20)
	if n := len(x.strip.holes(0, 30*time.Second)); n != 1 {
		t.Errorf("%d holes, want the one", n)
	}
}

// However long the run, the buckets stay as many as they may be, and count all of it.
func TestBucketsMerge(t *testing.T) {
	var p strip
	const n = 3 * maxBuckets
	for i := range n {
		p.take(&trace.Event{At: time.Duration(i) * bucketTime, Kind: trace.StoreCommit, Payload: &trace.Commit{}})
	}
	if len(p.buckets) > maxBuckets {
		t.Errorf("%d buckets", len(p.buckets))
	}
	if sum := p.over(0, n*bucketTime); sum.events != n || sum.commits != n {
		t.Errorf("of %d events %d are counted", n, sum.events)
	}
}

// On the axis of time too a click goes where the scrubber is then drawn, or to the first
// event behind it; the first column means the oldest event, the last the newest.
func TestClicksAndColumnsAgreeInTime(t *testing.T) {
	s := outage()
	var x Index
	x.Catch(s, 1<<20)
	steady.Check(t, func(r *rapid.T) {
		width := rapid.IntRange(10, 250).Draw(r, "width")
		w := Where{Len: s.Len(), At: uint64(rapid.IntRange(0, int(s.Len())-1).Draw(r, "at"))}
		if got := x.Position(0, width, s, w); got != 0 {
			r.Fatalf("the first column means %d", got)
		}
		if got := x.Position(width-1, width, s, w); got != s.Len()-1 {
			r.Fatalf("the last column means %d of %d", got, s.Len())
		}
		c := rapid.IntRange(0, width-2).Draw(r, "column")
		pos := x.Position(c, width, s, w)
		if at := x.column(s, pos, width, w); at < c {
			r.Fatalf("column %d means %d, which is drawn in column %d", c, pos, at)
		}
		if pos > 0 {
			if at := x.column(s, pos-1, width, w); at >= c && c > 0 {
				r.Fatalf("column %d means %d, but the one before is drawn in column %d", c, pos, at)
			}
		}
	})
}

// BenchmarkDraw is the timeline of an hour's run, drawn anew after each bucket.
func BenchmarkDraw(b *testing.B) {
	s := trace.NewStream(0)
	for i := range 36_000 {
		s.Append(&trace.Event{ID: trace.ID{Seq: uint64(i + 1)}, At: time.Duration(i) * bucketTime, Kind: trace.StoreCommit, Payload: &trace.Commit{}})
	}
	var x Index
	x.Catch(s, 1<<20)
	for _, fresh := range []bool{true, false} {
		b.Run(fmt.Sprintf("fresh=%v", fresh), func(b *testing.B) {
			g, w := grid.New(120, 4), Where{Len: s.Len(), At: s.Len() - 1, Live: true}
			for b.Loop() {
				if fresh {
					x.drawn, x.heights = drawn{}, heights{}
				}
				x.Draw(g.Area(), s, w)
			}
		})
	}
}
