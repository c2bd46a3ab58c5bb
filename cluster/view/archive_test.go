package view_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/raftstore/steady"
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
	for _, pos := range []uint64{0, 1, 4095, 20_000, 61_234, 110_000, 119_998} {
		var st *view.State
		steady.Until(t, "the recorder has caught up", func() bool {
			if st = h.At(pos); st == nil {
				r.Flush()
			}
			return st != nil
		})
		if st.Last != events[pos].ID || st.Events != pos+1 {
			t.Fatalf("position %d is reached as %v", pos, st)
		}
	}
	if e := h.Event(events[17].ID); e == nil || e.At != events[17].At {
		t.Fatalf("event %s is read back as %v", events[17].ID, e)
	}
	a.Close()
	if err := errors.Join(r.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
}
