package bench

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Like etcd's own benchmark: ten streams of a hundred watchers each.
const (
	watchStreams      = 10
	watchersPerStream = 100
)

// fanOut measures how many events a second reach a thousand watchers of one
// key while one writer puts as fast as it can: from the first put until every
// watcher has the last.
func fanOut(d time.Duration) func(context.Context, *Server) (float64, error) {
	return func(ctx context.Context, s *Server) (float64, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		clients, closeAll, err := connect(s, 16*(watchStreams+1))
		if err != nil {
			return 0, err
		}
		defer closeAll()
		writer := clients[watchStreams]
		var got atomic.Int64
		var last atomic.Int64 // the revision after which a watcher is done
		var finished sync.WaitGroup
		for i := range watchStreams {
			for range watchersPerStream {
				ch := clients[i].Watch(ctx, "watched", clientv3.WithCreatedNotify())
				if r, ok := <-ch; !ok || r.Err() != nil {
					return 0, errors.Join(errors.New("a watch was not created"), r.Err())
				}
				finished.Go(func() { count(ch, &got, &last) })
			}
		}
		start := time.Now()
		for time.Since(start) < d {
			if _, err := writer.Put(ctx, "watched", string(value)); err != nil {
				return 0, err
			}
		}
		// The end is known before the last put, so that every watcher sees it.
		r, err := writer.Put(ctx, "watched", string(value))
		if err != nil {
			return 0, err
		}
		last.Store(r.Header.Revision)
		if _, err := writer.Put(ctx, "watched", "end"); err != nil {
			return 0, err
		}
		finished.Wait()
		return float64(got.Load()) / time.Since(start).Seconds(), nil
	}
}

// count counts a watcher's events until it is past the last one.
func count(ch clientv3.WatchChan, got, last *atomic.Int64) {
	for r := range ch {
		got.Add(int64(len(r.Events)))
		if n := len(r.Events); n > 0 {
			if end := last.Load(); end > 0 && r.Events[n-1].Kv.ModRevision >= end {
				return
			}
		}
	}
}
