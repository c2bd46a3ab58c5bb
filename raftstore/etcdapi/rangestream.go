package etcdapi

import (
	"bytes"
	"context"
	"math"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore/mvcc"
)

// firstChunk is how many keys the first piece of a streamed range has.
const firstChunk = 10

// RangeStream reads in pieces of about a request's size, all of one revision:
// the piece that ends it has the header and the count.
//
// Mirrors etcd server/etcdserver/v3_server.go rangeStream.
func (k *kvServer) RangeStream(r *pb.RangeRequest, stream pb.KV_RangeStreamServer) error {
	if err := checkRangeStream(r); err != nil {
		return err
	}
	ctx := stream.Context()
	k.numbers.Ranges.Inc()
	first := proto.Clone(r).(*pb.RangeRequest)
	if !r.CountOnly {
		first.Limit = firstChunk
		if r.Limit > 0 {
			first.Limit = min(firstChunk, r.Limit)
		}
	}
	who, err := k.nameOf(ctx)
	if err != nil {
		return err
	}
	resp, err := k.read(ctx, who, first)
	if refused := k.mayRead(ctx, r.Key, r.RangeEnd); refused != nil && !isTimeout(err) {
		return refused
	}
	if err != nil {
		return err
	}
	if r.CountOnly {
		return stream.Send(&pb.RangeStreamResponse{RangeResponse: &pb.RangeResponse{Header: resp.Header, Count: resp.Count}})
	}
	return k.pieces(ctx, who, r, first, resp, stream.Send)
}

func (k *kvServer) pieces(ctx context.Context, who *pb.RequestHeader, r, next *pb.RangeRequest, resp *pb.RangeResponse, send func(*pb.RangeStreamResponse) error) error {
	total := r.Limit
	if total == 0 {
		total = math.MaxInt64
	}
	header := resp.Header
	if next.Revision == 0 {
		next.Revision = header.Revision
	}
	next.Serializable = true // it is one revision that this member may tell of
	sent, all := int64(0), resp.Count
	for {
		sent += int64(len(resp.Kvs))
		out := &pb.RangeResponse{Kvs: resp.Kvs}
		done := !resp.More || sent == total
		if done {
			out.Header, out.More, out.Count = header, resp.More, all
		}
		if err := send(&pb.RangeStreamResponse{RangeResponse: out}); err != nil || done {
			return err
		}
		next.Key = append(bytes.Clone(resp.Kvs[len(resp.Kvs)-1].Key), 0)
		next.Limit = min(chunkAfter(next.Limit, proto.Size(resp), k.server.cfg.MaxRequestBytes), total-sent)
		var err error
		if resp, err = k.local(ctx, who, next); err != nil {
			return err
		}
	}
}

// chunkAfter is how many keys the next piece has, so that pieces come near the
// target size.
//
// Mirrors etcd server/etcdserver/v3_server.go adjustChunkLimit.
func chunkAfter(limit int64, size, target int) int64 {
	switch {
	case size < target/2:
		limit *= 2
	case size > target*2:
		limit /= 2
	}
	return max(limit, 1)
}

func checkRangeStream(r *pb.RangeRequest) error {
	if err := mvcc.CheckRange(r); err != nil {
		return err
	}
	if r.SortOrder != pb.RangeRequest_NONE && (r.SortTarget != pb.RangeRequest_KEY || r.SortOrder != pb.RangeRequest_ASCEND) {
		return status.Errorf(codes.Unimplemented, "RangeStream does not support custom sort orders")
	}
	if r.MinModRevision != 0 || r.MaxModRevision != 0 || r.MinCreateRevision != 0 || r.MaxCreateRevision != 0 {
		return status.Errorf(codes.Unimplemented, "RangeStream does not support revision filters")
	}
	return nil
}
