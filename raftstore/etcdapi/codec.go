package etcdapi

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec that this one wraps
	"google.golang.org/grpc/mem"

	"kviz/raftstore/metrics"
)

// codec is gRPC's protobuf codec with three additions: it counts bytes, lets
// through answers that are bytes already, and writes range answers by hand.
type codec struct {
	encoding.CodecV2
	numbers *metrics.Member
}

func newCodec(numbers *metrics.Member) codec {
	return codec{encoding.GetCodecV2("proto"), numbers}
}

// encoded is a message that is bytes already.
type encoded struct{ mem.BufferSlice }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	var out mem.BufferSlice
	var err error
	switch m := v.(type) {
	case *encoded:
		out = m.BufferSlice
	case *pb.RangeResponse:
		out = encodeRange(m)
	default:
		out, err = c.CodecV2.Marshal(v)
	}
	c.numbers.Sent.Add(float64(out.Len()))
	return out, err
}

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	c.numbers.Received.Add(float64(data.Len()))
	return c.CodecV2.Unmarshal(data, v)
}
