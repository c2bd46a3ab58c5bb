package raftstore_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"kviz/raftstore"
)

func BenchmarkRestart(b *testing.B) {
	dir := b.TempDir()
	cfg := raftstore.Config{Dir: dir, NoSync: true, SnapshotEvery: 1 << 40, RequestTimeout: time.Minute}
	s, err := raftstore.Open(cfg)
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	sem := make(chan struct{}, 512)
	for i := range 50_000 {
		wg.Add(1)
		sem <- struct{}{}
		s.Do(putReq(fmt.Sprintf("/registry/pods/ns/pod-%d", i%5000), string(make([]byte, 1200))), func(r *raftstore.Result) {
			if r.Err != nil {
				b.Error(r.Err)
			}
			<-sem
			wg.Done()
		})
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		start := time.Now()
		s, err := raftstore.Open(cfg)
		if err != nil {
			b.Fatal(err)
		}
		opened := time.Since(start)
		r := call(s, getReq("/registry/pods/ns/pod-1"))
		if r.Err != nil {
			b.Fatal(r.Err)
		}
		b.Logf("open %v, first read %v", opened, time.Since(start))
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
