package etcdapi

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// kvServer is etcd's KV service.
type kvServer struct {
	pb.UnimplementedKVServer
	*face
}

// Range reads. A serializable one is answered by the member that is asked,
// however old its state is.
func (k *kvServer) Range(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	if r.Serializable && k.server.raft != nil {
		return k.server.raft.RangeAt(k.member, r)
	}
	return answer[*pb.RangeResponse](k.do(ctx, &pb.InternalRaftRequest{Range: r}))
}

// Put writes one key.
func (k *kvServer) Put(ctx context.Context, r *pb.PutRequest) (*pb.PutResponse, error) {
	return answer[*pb.PutResponse](k.do(ctx, &pb.InternalRaftRequest{Put: r}))
}

// DeleteRange deletes.
func (k *kvServer) DeleteRange(ctx context.Context, r *pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) {
	return answer[*pb.DeleteRangeResponse](k.do(ctx, &pb.InternalRaftRequest{DeleteRange: r}))
}

// Txn runs a transaction; a read-only one goes through the log too.
func (k *kvServer) Txn(ctx context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	return answer[*pb.TxnResponse](k.do(ctx, &pb.InternalRaftRequest{Txn: r}))
}

// Compact throws history away. It is always physical: when the answer comes,
// the history is gone.
func (k *kvServer) Compact(ctx context.Context, r *pb.CompactionRequest) (*pb.CompactionResponse, error) {
	return answer[*pb.CompactionResponse](k.do(ctx, &pb.InternalRaftRequest{Compaction: r}))
}

// answer gives the store's answer its type.
func answer[T any](resp any, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return resp.(T), nil
}
