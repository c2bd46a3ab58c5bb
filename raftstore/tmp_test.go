package raftstore_test

import (
	"path/filepath"
	"testing"

	"kviz/raftstore"
	"kviz/raftstore/steady"
)

// An Open that finds no place for its folder leaves nothing behind.
func TestOpenWithoutATemporaryFolder(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "gone"))
	steady.Bubble(t, func(t *testing.T) { // which ends with the last goroutine
		if s, err := raftstore.Open(raftstore.Config{}); err == nil {
			t.Fatal("opened", s.Close())
		}
	})
}
