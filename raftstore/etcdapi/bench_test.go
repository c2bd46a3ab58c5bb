package etcdapi_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"kviz/raftstore"
	"kviz/raftstore/etcdapi"
)

// These measure the address, not the store: the store is the bare one.

func benchServer(b *testing.B, conns int) []*grpc.ClientConn {
	store := raftstore.OpenBare()
	server, err := etcdapi.Serve(store, etcdapi.Config{})
	if err != nil {
		b.Fatal(err)
	}
	list := make([]*grpc.ClientConn, conns)
	for i := range list {
		if list[i], err = grpc.NewClient(server.Addr, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
			b.Fatal(err)
		}
	}
	b.Cleanup(func() {
		for _, c := range list {
			c.Close()
		}
		if err := server.Close(); err != nil {
			b.Error(err)
		}
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	return list
}

// each runs fn b.N times from so many callers.
func each(b *testing.B, callers int, fn func(i int) error) {
	b.ResetTimer()
	var next atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := int(next.Add(1)); i <= b.N; i = int(next.Add(1)) {
				if err := fn(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkPut(b *testing.B) {
	conns := benchServer(b, 4)
	value := make([]byte, 256)
	each(b, 64, func(i int) error {
		_, err := pb.NewKVClient(conns[i%4]).Put(b.Context(), &pb.PutRequest{Key: fmt.Appendf(nil, "k%06d", i%100_000), Value: value})
		return err
	})
}

func BenchmarkGet(b *testing.B) {
	conns := benchServer(b, 4)
	if _, err := pb.NewKVClient(conns[0]).Put(b.Context(), &pb.PutRequest{Key: []byte("k"), Value: make([]byte, 256)}); err != nil {
		b.Fatal(err)
	}
	each(b, 64, func(i int) error {
		_, err := pb.NewKVClient(conns[i%4]).Range(b.Context(), &pb.RangeRequest{Key: []byte("k")})
		return err
	})
}

func BenchmarkRange500(b *testing.B) {
	conns := benchServer(b, 4)
	for i := range 500 {
		if _, err := pb.NewKVClient(conns[0]).Put(b.Context(), &pb.PutRequest{Key: fmt.Appendf(nil, "k%06d", i), Value: make([]byte, 256)}); err != nil {
			b.Fatal(err)
		}
	}
	each(b, 8, func(i int) error {
		_, err := pb.NewKVClient(conns[i%4]).Range(b.Context(), &pb.RangeRequest{Key: []byte("k"), RangeEnd: []byte("l")})
		return err
	})
}

// BenchmarkFanOut counts events that arrive at a thousand watchers of one key:
// on one stream, on ten, on a stream each.
func BenchmarkFanOut(b *testing.B) {
	const watchers = 1000
	for _, streams := range []int{1, 10, watchers} {
		b.Run(fmt.Sprintf("%d streams", streams), func(b *testing.B) {
			conns := benchServer(b, min(streams, 10)+1)
			var got atomic.Int64
			var ready, all sync.WaitGroup
			want := int64(b.N) / watchers * watchers
			if want == 0 {
				want = watchers
			}
			done := make(chan struct{})
			for i := range streams {
				s, err := pb.NewWatchClient(conns[i%(len(conns)-1)]).Watch(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				ready.Add(watchers / streams)
				all.Go(func() {
					for {
						r, err := s.Recv()
						if err != nil {
							return
						}
						if r.Created {
							ready.Done()
						}
						if n := len(r.Events); n > 0 && got.Add(int64(n)) >= want {
							select {
							case <-done:
							default:
								close(done)
							}
						}
					}
				})
				for range watchers / streams {
					if err := s.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{Key: []byte("k")}}}); err != nil {
						b.Fatal(err)
					}
				}
			}
			ready.Wait()
			b.ResetTimer()
			kv := pb.NewKVClient(conns[len(conns)-1])
			for range want / watchers {
				if _, err := kv.Put(b.Context(), &pb.PutRequest{Key: []byte("k"), Value: make([]byte, 256)}); err != nil {
					b.Fatal(err)
				}
			}
			<-done
			b.StopTimer()
			b.ReportMetric(float64(want)/b.Elapsed().Seconds(), "events/s")
			for _, c := range conns {
				c.Close()
			}
			all.Wait()
		})
	}
}
