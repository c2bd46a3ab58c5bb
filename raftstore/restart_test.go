package raftstore_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"kviz/raftstore"
)

// Opening a folder in which three members wrote 50,000 entries, to the first read:
// with the snapshots that they took, and from the log alone.
func BenchmarkRestart(b *testing.B) {
	for name, every := range map[string]uint64{"snapshots": 0, "log": 1 << 40} {
		b.Run(name, func(b *testing.B) { restart(b, every) })
	}
}

func restart(b *testing.B, every uint64) {
	cfg := raftstore.Config{Dir: b.TempDir(), NoSync: true, SnapshotEvery: every, RequestTimeout: time.Minute}
	s, err := raftstore.Open(cfg)
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	room := make(chan struct{}, 512)
	for i := range 50_000 {
		wg.Add(1)
		room <- struct{}{}
		s.Do(putReq(fmt.Sprintf("/registry/pods/ns/pod-%d", i%5000), string(make([]byte, 1200))), func(r *raftstore.Result) {
			if r.Err != nil {
				b.Error(r.Err)
			}
			<-room
			wg.Done()
		})
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		s, err := raftstore.Open(cfg)
		if err != nil {
			b.Fatal(err)
		}
		if r := call(s, getReq("/registry/pods/ns/pod-1")); r.Err != nil {
			b.Fatal(r.Err)
		}
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
