package etcdapi_test

import (
	"context"
	"slices"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kviz/raftstore"
	"kviz/raftstore/etcdapi"
	"kviz/raftstore/steady"
)

// A handler that breaks an invariant is handed to whoever owns the terminal; its
// caller hears of it and the others go on.
func TestAPanicOfAHandlerIsContained(t *testing.T) { steady.Bubble(t, testAPanicOfAHandlerIsContained) }

func testAPanicOfAHandlerIsContained(t *testing.T) {
	var broken []string
	b := serve(t, raftstore.OpenBare(), etcdapi.Config{
		Do: func(context.Context, string, *pb.InternalRaftRequest) *raftstore.Result {
			panic("the store is upside down")
		},
		Contain: func(what string, fn func()) {
			defer func() {
				if v := recover(); v != nil {
					broken = append(broken, what)
				}
			}()
			fn()
		},
	})
	if _, err := pb.NewKVClient(b.conns[0]).Put(b.ctx, &pb.PutRequest{Key: []byte("a")}); status.Code(err) != codes.Internal {
		t.Errorf("put: %v", err)
	}
	if _, err := pb.NewMaintenanceClient(b.conns[0]).Status(b.ctx, &pb.StatusRequest{}); err != nil {
		t.Errorf("another call after it: %v", err)
	}
	if want := []string{"/etcdserverpb.KV/Put"}; !slices.Equal(broken, want) {
		t.Errorf("contained were %q, want %q", broken, want)
	}
}
