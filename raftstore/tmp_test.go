package raftstore_test

import (
	"path/filepath"
	"runtime"
	"testing"

	"kviz/raftstore"
)

// An Open that finds no place for its folder leaves nothing behind.
func TestOpenWithoutATemporaryFolder(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "gone"))
	before := runtime.NumGoroutine()
	const times = 20
	for range times {
		if s, err := raftstore.Open(raftstore.Config{}); err == nil {
			t.Fatal("opened", s.Close())
		}
	}
	// Others may have come or gone meanwhile, but not so many.
	if left := runtime.NumGoroutine(); left >= before+times {
		t.Errorf("%d goroutines before, %d after", before, left)
	}
}
