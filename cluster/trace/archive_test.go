package trace_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"kviz/cluster/trace"
)

// recorded appends n events to a stream that keeps far fewer, and records them.
func recorded(t *testing.T, limit, n int) (*trace.Stream, *trace.Recorder, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.kvrun")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewRecorder(file, header)
	if err != nil {
		t.Fatal(err)
	}
	a, err := trace.NewArchive(r, file, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := trace.NewStream(limit)
	s.SetArchive(a)
	s.Tee(r.Append)
	t.Cleanup(func() {
		a.Close()
		if err := errors.Join(r.Close(), file.Close()); err != nil {
			t.Error(err)
		}
	})
	for i := range n {
		s.Append(&trace.Event{
			ID: trace.ID{Seq: uint64(i/3 + 1), Sub: uint32(i % 3)}, Kind: trace.QueueAdd,
			Payload: &trace.QueueItem{Queue: "replicaset", Key: "demo/web", Ready: i},
		})
	}
	return s, r, path
}

// What memory has let go of is read back from the recording, though it is
// still being written, and nobody has to wait until a block is full.
func TestWhatLeftMemoryIsReadBackFromTheRecording(t *testing.T) {
	const n = 30_000
	s, _, _ := recorded(t, 1000, n)
	if s.First() < n-2000 {
		t.Fatalf("the stream keeps everything from %d on: nothing to read back", s.First())
	}
	if s.Oldest() != 0 {
		t.Fatalf("the oldest event to be had is at %d", s.Oldest())
	}
	for pos := uint64(0); pos < n; pos += 191 {
		e := s.Get(pos)
		if e == nil || e.Payload.(*trace.QueueItem).Ready != int(pos) {
			t.Fatalf("position %d has %v", pos, e)
		}
		if _, at, ok := s.At(e.ID); !ok || at != pos {
			t.Fatalf("event %s is said to be at %d, it is at %d", e.ID, at, pos)
		}
	}
	var at uint64
	for at < n {
		events, next, lost := s.Read(at, 700)
		if lost > 0 || len(events) == 0 {
			t.Fatalf("reading at %d gives %d events and %d lost", at, len(events), lost)
		}
		for i, e := range events {
			if e.Payload.(*trace.QueueItem).Ready != int(at)+i {
				t.Fatalf("position %d has event %s", at+uint64(i), e.ID)
			}
		}
		at = next
	}
	if _, _, ok := s.At(trace.ID{Seq: 1, Sub: 7}); ok {
		t.Fatal("an event was found that there never was")
	}
}

// A recording with a hole in it cannot be read by position any more.
func TestARecordingWithAGapIsNotReadBack(t *testing.T) {
	s, r, _ := recorded(t, 1000, 10_000)
	r.Gap()
	if s.Oldest() != s.First() || s.Get(0) != nil {
		t.Fatalf("the oldest event is at %d, memory has those from %d on", s.Oldest(), s.First())
	}
	if _, _, lost := s.Read(0, 10); lost != s.First() {
		t.Fatalf("%d events are said to be lost, want %d", lost, s.First())
	}
}

// A run of a moment, cut off, gives back most of what it was: the first blocks
// are small, and Flush writes what there is.
func TestAShortRunThatIsCutOffIsWorthReading(t *testing.T) {
	_, r, path := recorded(t, 0, 1000)
	r.Flush()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.kvrun")
	if err := os.WriteFile(cut, whole[:len(whole)*9/10], 0o600); err != nil {
		t.Fatal(err)
	}
	_, events, err := trace.ReadAll(cut)
	if !errors.Is(err, trace.ErrTruncated) || len(events) < 512 || len(events) == 1000 {
		t.Fatalf("%d of 1000 events were read, then %v", len(events), err)
	}
	if _, events, _ = trace.ReadAll(path); len(events) != 1000 {
		t.Fatalf("%d of 1000 events were flushed", len(events))
	}
}
