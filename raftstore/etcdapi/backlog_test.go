package etcdapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kviz/raftstore"
	"kviz/raftstore/metrics"
	"kviz/raftstore/steady"
)

// lagging is a store of which a member has not applied what it should have.
type lagging struct {
	*raftstore.Replicated
	member string
	gap    atomic.Uint64
}

func (l *lagging) Members() []raftstore.MemberStatus {
	list := l.Replicated.Members()
	for i := range list {
		if list[i].ID == l.member {
			list[i].Commit = list[i].Applied + l.gap.Load()
		}
	}
	return list
}

// A member that has more than 5,000 committed entries to apply takes no more
// writes, still reads, and takes writes again when it has caught up.
func TestTooManyRequests(t *testing.T) { steady.Bubble(t, testTooManyRequests) }

func testTooManyRequests(t *testing.T) {
	s := replicated(t)
	store := &lagging{Replicated: s, member: s.IDs()[0]}
	b := newBench(t, store)
	b.put("a", "1")
	put := func() error {
		_, err := b.kv().Put(b.ctx, &pb.PutRequest{Key: []byte("a"), Value: []byte("2")})
		return err
	}
	// until waits for the member's next look at how far it is.
	until := func(want codes.Code) (err error) {
		t.Helper()
		steady.Await(t, fmt.Sprintf("a put ends with %v", want), func() error {
			if err = put(); status.Code(err) == want {
				return nil
			}
			return fmt.Errorf("it ends with %w", err)
		})
		return err
	}
	store.gap.Store(5000)
	if err := put(); err != nil {
		t.Errorf("with 5,000 to apply: %v", err)
	}
	store.gap.Store(5001)
	if err := until(codes.Unknown); err == nil || status.Convert(err).Message() != "etcdserver: too many requests" {
		t.Errorf("with 5,001 to apply: %v", err)
	}
	if _, err := b.kv().Range(b.ctx, &pb.RangeRequest{Key: []byte("a")}); err != nil {
		t.Errorf("a read: %v", err)
	}
	if _, err := pb.NewKVClient(b.conns[1]).Put(b.ctx, &pb.PutRequest{Key: []byte("a")}); err != nil {
		t.Errorf("at another member: %v", err)
	}
	store.gap.Store(0)
	if err := until(codes.OK); err != nil {
		t.Error(err)
	}
}

// What a member is asked and does shows in its numbers under etcd's names.
func TestTheNewNumbersCount(t *testing.T) { steady.Bubble(t, testTheNewNumbersCount) }

func testTheNewNumbersCount(t *testing.T) {
	b := newBench(t, replicated(t))
	b.put("a", "12345")
	b.compact(2)
	if _, err := pb.NewLeaseClient(b.conns[0]).LeaseGrant(b.ctx, &pb.LeaseGrantRequest{ID: 1, TTL: 100}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.kv().Range(b.ctx, &pb.RangeRequest{Key: []byte("a"), Revision: 99}); err == nil {
		t.Fatal("a read of the future")
	}
	m := pb.NewMaintenanceClient(b.conns[0])
	if _, err := m.HashKV(b.ctx, &pb.HashKVRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Hash(b.ctx, &pb.HashRequest{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.ctx)
	w, err := pb.NewWatchClient(b.conns[0]).Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{Key: []byte("a")}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Recv(); err != nil {
		t.Fatal(err)
	}
	cancel()
	for _, err := w.Recv(); err == nil || errors.Is(err, io.EOF); _, err = w.Recv() {
		t.Fatal("the stream goes on")
	}
	member := b.server.Addresses()[0].Member
	for name, want := range map[string]float64{
		`etcd_debugging_mvcc_total_put_size_in_bytes`: 6, `etcd_debugging_mvcc_db_compaction_total_duration_milliseconds_count`: 1,
		`etcd_server_apply_duration_seconds_count{op="Put",success="true",version="v3"}`: 1,
		`etcd_server_range_duration_seconds_count{success="false"}`:                      1,
		`etcd_debugging_lease_ttl_total_sum`:                                             100, `etcd_mvcc_hash_duration_seconds_count`: 1, `etcd_mvcc_hash_rev_duration_seconds_count`: 1,
		`grpc_server_msg_received_total{grpc_method="Watch",grpc_service="etcdserverpb.Watch",grpc_type="bidi_stream"}`: 1,
		`grpc_server_msg_sent_total{grpc_method="Watch",grpc_service="etcdserverpb.Watch",grpc_type="bidi_stream"}`:     1,
		`etcd_cluster_version{cluster_version="3.7"}`:                                                                   1,
	} {
		steady.Await(t, name, func() error {
			if got := numbered(b.server.Metrics(), member, name); got != want {
				return fmt.Errorf("it is %v, want %v", got, want)
			}
			return nil
		})
	}
	if n := numbered(b.server.Metrics(), member, "etcd_network_known_peers"); n != 2 {
		t.Errorf("%v peers", n)
	}
}

// numbered is one of a member's numbers, or the sum of all of a name.
func numbered(set *metrics.Set, member, name string) (n float64) {
	for _, v := range set.Snapshot(member) {
		full := v.Name
		if v.Labels != "" {
			full += "{" + v.Labels + "}"
		}
		if full == name || strings.HasPrefix(full, name+"{") {
			n += v.Value
		}
	}
	return n
}
