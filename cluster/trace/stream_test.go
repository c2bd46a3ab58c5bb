package trace_test

import (
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// event makes the i-th event of a made-up run: every third lies outside.
func event(i int) *trace.Event {
	e := &trace.Event{ID: trace.ID{Seq: uint64(i/3*2 + i%3 + 1)}, Kind: trace.QueueAdd, At: time.Duration(i) * time.Millisecond}
	if i%3 == 2 {
		e.ID = trace.ID{Seq: uint64(i/3*2 + 2), Sub: 1}
		e.Kind = trace.RaftSend
	}
	return e
}

// Whatever the sizes, reading a stream piece by piece gives every event that
// is kept, in order, and says how many are not.
func TestStreamGivesEveryEventOnceOrSaysItIsLost(t *testing.T) {
	steady.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 300).Draw(t, "limit")
		s := trace.NewStream(limit)
		var from, seen, lost uint64
		total := 0
		least := limit // that was ever asked for: what is let go does not come back
		for range rapid.IntRange(1, 20).Draw(t, "rounds") {
			if rapid.Bool().Draw(t, "another limit") {
				limit = rapid.IntRange(1, 300).Draw(t, "limit")
				s.SetLimit(limit)
				least = min(least, limit)
			}
			for range rapid.IntRange(0, 120).Draw(t, "appends") {
				s.Append(event(total))
				total++
			}
			for range rapid.IntRange(0, 6).Draw(t, "reads") {
				events, next, gone := s.Read(from, rapid.IntRange(0, 90).Draw(t, "max"))
				lost += gone
				for i, e := range events {
					if want := event(int(next) - len(events) + i); e.ID != want.ID {
						t.Fatalf("position %d holds %s, want %s", int(next)-len(events)+i, e.ID, want.ID)
					}
				}
				seen += uint64(len(events))
				if seen+lost != next {
					t.Fatalf("saw %d and lost %d but go on from %d", seen, lost, next)
				}
				from = next
			}
		}
		if s.Len() != uint64(total) {
			t.Fatalf("Len is %d after %d appends", s.Len(), total)
		}
		if kept := int(s.Len() - s.First()); kept < min(least, total) || kept > 300+2048 {
			t.Fatalf("keeps %d of %d events with a limit of %d", kept, total, limit)
		}
		for i := range total {
			e, pos, ok := s.At(event(i).ID)
			if want := uint64(i) >= s.First(); ok != want || ok && (pos != uint64(i) || e.ID != event(i).ID) {
				t.Fatalf("At(%s) gives position %d, %v; it is at %d, the first kept is %d", event(i).ID, pos, ok, i, s.First())
			}
		}
	})
}

func TestManyReadersFollowOneWriter(t *testing.T) {
	s := trace.NewStream(100_000)
	const total = 20_000
	var wg sync.WaitGroup
	for range 4 {
		changed, stop := s.Notify()
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer stop()
			var pos uint64
			for pos < total {
				events, next, _ := s.Read(pos, 0)
				for i, e := range events {
					if e.ID != event(int(pos)+i).ID {
						t.Errorf("position %d holds %s", int(pos)+i, e.ID)
						return
					}
				}
				pos = next
				if len(events) == 0 {
					<-changed
				}
			}
		}()
	}
	var teed int
	stop := s.Tee(func(*trace.Event) { teed++ })
	for i := range total {
		s.Append(event(i))
	}
	stop()
	s.Append(event(total))
	wg.Wait()
	if teed != total {
		t.Errorf("the tee saw %d events of %d", teed, total)
	}
	if s.Last().ID != event(total).ID {
		t.Errorf("the last event is %s", s.Last().ID)
	}
}

func BenchmarkAppend(b *testing.B) {
	s := trace.NewStream(0)
	e := event(0)
	for b.Loop() {
		s.Append(e)
	}
}
