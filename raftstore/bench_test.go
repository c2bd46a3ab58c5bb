package raftstore_test

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore"
	"kviz/raftstore/host"
)

// BenchmarkPut measures 256-byte puts with so many callers at a time, over three
// members with real fsync.
func BenchmarkPut(b *testing.B) {
	value := bytes.Repeat([]byte("v"), 256)
	for _, clients := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			s := open(b, raftstore.Config{})
			mustPut(b, s, "warm", "up")
			var next atomic.Int64
			var wg sync.WaitGroup
			b.ResetTimer()
			for range clients {
				wg.Go(func() {
					for {
						n := next.Add(1)
						if n > int64(b.N) {
							return
						}
						key := fmt.Appendf(nil, "key-%06d", n%10000)
						r := call(s, &pb.InternalRaftRequest{Put: &pb.PutRequest{Key: key, Value: value}})
						if r.Err != nil {
							b.Error(r.Err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "puts/s")
		})
	}
}

// BenchmarkGet measures linearizable gets.
func BenchmarkGet(b *testing.B) {
	for _, clients := range []int{1, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			s := open(b, raftstore.Config{})
			mustPut(b, s, "key", "value")
			var next atomic.Int64
			var wg sync.WaitGroup
			b.ResetTimer()
			for range clients {
				wg.Go(func() {
					for next.Add(1) <= int64(b.N) {
						if r := call(s, getReq("key")); r.Err != nil {
							b.Error(r.Err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "gets/s")
		})
	}
}

// BenchmarkStart measures Open until the first put is acknowledged.
func BenchmarkStart(b *testing.B) {
	for _, timers := range []bool{false, true} {
		b.Run(fmt.Sprintf("timers=%v", timers), func(b *testing.B) {
			for range b.N {
				s, err := raftstore.Open(raftstore.Config{NoCampaign: timers})
				must(b, err)
				mustPut(b, s, "k", "v")
				b.StopTimer()
				must(b, s.Close())
				b.StartTimer()
			}
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms/start")
		})
	}
}

// BenchmarkFailover measures the crash of the leader until the next put is
// acknowledged.
func BenchmarkFailover(b *testing.B) {
	for _, members := range []int{3, 5} {
		b.Run(fmt.Sprintf("members=%d", members), func(b *testing.B) {
			s := open(b, raftstore.Config{Members: members})
			mustPut(b, s, "k", "v")
			b.ResetTimer()
			for range b.N {
				leader := s.Leader()
				must(b, s.Crash(leader))
				mustPut(b, s, "k", "v")
				b.StopTimer()
				must(b, s.Restart(leader))
				mustPut(b, s, "k", "v")
				b.StartTimer()
			}
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms/failover")
		})
	}
}

// BenchmarkIdle measures the CPU that a store takes while nothing happens.
func BenchmarkIdle(b *testing.B) {
	s := open(b, raftstore.Config{})
	mustPut(b, s, "k", "v")
	for range b.N {
		before, err := host.ProcessorTime(os.Getpid())
		must(b, err)
		time.Sleep(3 * time.Second)
		after, err := host.ProcessorTime(os.Getpid())
		must(b, err)
		b.ReportMetric(100*(after-before).Seconds()/3, "%core")
	}
}
