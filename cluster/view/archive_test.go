package view_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// With a recording, every moment of a run is reached, however small the memory:
// the state is the one that folding everything gives.
func TestARecordedRunIsReachedToItsBeginning(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "run.kvrun"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewRecorder(file, trace.Header{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	a, err := trace.NewArchive(r, file, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := trace.NewStream(3000)
	s.SetArchive(a)
	defer s.Tee(r.Append)()
	h := view.NewHistory(s)
	events := madeUp(3, 120_000)
	for i, e := range events {
		s.Append(e)
		if i%700 == 0 {
			h.CatchUp(0)
		}
	}
	h.CatchUp(0)
	if h.First() != 0 {
		t.Fatalf("the oldest moment is %d", h.First())
	}
	if n := view.Marks(h); n > 60 {
		t.Errorf("%d marks are kept", n)
	}
	worst, deadline := time.Duration(0), time.Now().Add(5*time.Minute)
	for _, pos := range []uint64{0, 1, 4095, 20_000, 61_234, 110_000, 119_998} {
		from := time.Now()
		st := h.At(pos)
		for st == nil && time.Now().Before(deadline) { // the recorder is behind
			r.Flush()
			from, st = time.Now(), h.At(pos)
		}
		worst = max(worst, time.Since(from))
		if st == nil || st.Last != events[pos].ID || st.Events != pos+1 {
			t.Fatalf("position %d is reached as %v", pos, st)
		}
	}
	t.Logf("the farthest moment took %v", worst)
	if e := h.Event(events[17].ID); e == nil || e.At != events[17].At {
		t.Fatalf("event %s is read back as %v", events[17].ID, e)
	}
	a.Close()
	if err := errors.Join(r.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
}
