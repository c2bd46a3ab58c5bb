package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
)

// What is saved is a recording of the whole run; a file that is there is left as it is.
func TestSaveRecording(t *testing.T) {
	c, err := cluster.Boot(t.Context(), cluster.Config{Seed: 5, Bare: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.kvrun")
	if err := saveRecording(c, path, trace.Header{Seed: 5, Store: "mvcc"}); err != nil {
		t.Fatal(err)
	}
	if err := saveRecording(c, path, trace.Header{}); err == nil {
		t.Error("a file that is there is written over")
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("it is %v (%v)", info.Mode(), err)
	}
	h, events, err := trace.ReadAll(path)
	if err != nil || h.Seed != 5 || uint64(len(events)) < 1000 {
		t.Fatalf("%d events of seed %d, %v", len(events), h.Seed, err)
	}
	for i, e := range events {
		if want := c.Trace().Get(uint64(i)); e.ID != want.ID || e.Kind != want.Kind {
			t.Fatalf("event %d is #%s %s, want #%s %s", i, e.ID, e.Kind, want.ID, want.Kind)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
