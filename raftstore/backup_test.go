package raftstore_test

import (
	"io"
	"sync"
	"testing"

	"kviz/raftstore"
	"kviz/raftstore/steady"
)

// Several may take a backup of one member at once, while it is written to (with -race).
func TestBackupsAtOnce(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{NoSync: true})
		mustPut(t, s, "k", "1")
		w := startWriter(s)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 5 {
					if err := s.Backup(s.IDs()[0], io.Discard); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		w.end()
	})
}
