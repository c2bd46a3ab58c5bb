package wire

import (
	"errors"
	"fmt"
	"io"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

func b(s string) []byte { return []byte(s) }

func put(key, value string) *pb.PutRequest { return &pb.PutRequest{Key: b(key), Value: b(value)} }

func get(key, end string) *pb.RangeRequest { return &pb.RangeRequest{Key: b(key), RangeEnd: b(end)} }

func opPut(key, value string) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: put(key, value)}}
}

func opGet(key, end string) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: get(key, end)}}
}

func opDelete(key, end string) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: b(key), RangeEnd: b(end)}}}
}

func opTxn(t *pb.TxnRequest) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestTxn{RequestTxn: t}}
}

func whereValue(key, value string) *pb.Compare {
	return &pb.Compare{Key: b(key), Target: pb.Compare_VALUE, TargetUnion: &pb.Compare_Value{Value: b(value)}}
}

func whereVersion(key string, version int64) *pb.Compare {
	return &pb.Compare{Key: b(key), Target: pb.Compare_VERSION, TargetUnion: &pb.Compare_Version{Version: version}}
}

// keys is the KV service, except transactions.
func keys(s *side) {
	ask(s, s.kv().Range, get("a", ""))
	ask(s, s.kv().Put, put("a", "1"))
	ask(s, s.kv().Put, put("a", "2"))
	ask(s, s.kv().Put, &pb.PutRequest{Key: b("a"), Value: b("3"), PrevKv: true})
	ask(s, s.kv().Put, &pb.PutRequest{Key: b("new"), Value: b("1"), PrevKv: true})
	ask(s, s.kv().Put, put("", "1"))
	ask(s, s.kv().Put, put("empty", ""))
	ask(s, s.kv().Put, &pb.PutRequest{Key: b("a"), IgnoreValue: true, Value: b("x")})
	ask(s, s.kv().Put, &pb.PutRequest{Key: b("a"), IgnoreValue: true})
	ask(s, s.kv().Put, &pb.PutRequest{Key: b("absent"), IgnoreValue: true})
	ask(s, s.kv().Put, &pb.PutRequest{Key: b("a"), IgnoreLease: true, Lease: 1})
	ask(s, s.kv().Put, &pb.PutRequest{Key: b("a"), Value: b("4"), IgnoreLease: true})
	ask(s, s.kv().Put, &pb.PutRequest{Key: b("absent"), Value: b("4"), IgnoreLease: true})
	ask(s, s.kv().Put, &pb.PutRequest{Key: b("a"), Lease: 4711})
	ask(s, s.kv().Put, &pb.PutRequest{Key: b("large"), Value: make([]byte, 2<<20-4096)})
	ask(s, s.kv().Put, &pb.PutRequest{Key: b("large"), Value: make([]byte, 4<<20)})
	for i := range 6 {
		ask(s, s.kv().Put, put(fmt.Sprintf("k%d", (i*5)%6), fmt.Sprintf("v%d", i)))
	}
	ranges(s)
	ask(s, s.kv().DeleteRange, &pb.DeleteRangeRequest{Key: b("absent")})
	ask(s, s.kv().DeleteRange, &pb.DeleteRangeRequest{})
	ask(s, s.kv().DeleteRange, &pb.DeleteRangeRequest{Key: b("k0"), PrevKv: true})
	ask(s, s.kv().DeleteRange, &pb.DeleteRangeRequest{Key: b("k1"), RangeEnd: b("k3"), PrevKv: true})
	ask(s, s.kv().DeleteRange, &pb.DeleteRangeRequest{Key: b("k9"), RangeEnd: b("k1")})
	ask(s, s.kv().Range, get("k", "l"))
	compactions(s)
	streams(s)
	s.turnTo(1)
	ask(s, s.kv().Put, put("through", "a follower"))
	ask(s, s.kv().Range, get("through", ""))
	ask(s, s.kv().Range, &pb.RangeRequest{Key: b("through"), Serializable: true})
	ask(s, s.kv().Range, &pb.RangeRequest{Key: b("a"), Revision: 1 << 40})
	s.turnTo(0)
	ask(s, s.upkeep().HashKV, &pb.HashKVRequest{})
	ask(s, s.upkeep().HashKV, &pb.HashKVRequest{Revision: 10})
	ask(s, s.upkeep().HashKV, &pb.HashKVRequest{Revision: 12})
	ask(s, s.upkeep().HashKV, &pb.HashKVRequest{Revision: 1})
	ask(s, s.upkeep().HashKV, &pb.HashKVRequest{Revision: 1 << 30})
}

func ranges(s *side) {
	all := func(change func(r *pb.RangeRequest)) {
		r := get("k", "l")
		change(r)
		ask(s, s.kv().Range, r)
	}
	ask(s, s.kv().Range, &pb.RangeRequest{})
	ask(s, s.kv().Range, get("\x00", "\x00"))
	ask(s, s.kv().Range, get("k4", "\x00"))
	ask(s, s.kv().Range, get("l", "k"))
	all(func(r *pb.RangeRequest) { r.Limit = 2 })
	all(func(r *pb.RangeRequest) { r.Limit = 6 })
	all(func(r *pb.RangeRequest) { r.Limit = -1 })
	all(func(r *pb.RangeRequest) { r.CountOnly = true })
	all(func(r *pb.RangeRequest) { r.CountOnly, r.Limit = true, 2 })
	all(func(r *pb.RangeRequest) { r.KeysOnly = true })
	all(func(r *pb.RangeRequest) { r.KeysOnly, r.Limit = true, 3 })
	all(func(r *pb.RangeRequest) { r.MinModRevision = 11 })
	all(func(r *pb.RangeRequest) { r.MaxModRevision, r.Limit = 11, 1 })
	all(func(r *pb.RangeRequest) { r.MinCreateRevision, r.MaxCreateRevision = 9, 11 })
	all(func(r *pb.RangeRequest) { r.Revision = 9 })
	all(func(r *pb.RangeRequest) { r.Revision = 1 })
	all(func(r *pb.RangeRequest) { r.Revision = -1 })
	all(func(r *pb.RangeRequest) { r.Revision = 1000 })
	all(func(r *pb.RangeRequest) { r.SortOrder = 7 })
	all(func(r *pb.RangeRequest) { r.SortTarget = 9 })
	for target := pb.RangeRequest_KEY; target <= pb.RangeRequest_VALUE; target++ {
		all(func(r *pb.RangeRequest) { r.SortTarget, r.SortOrder, r.Limit = target, pb.RangeRequest_DESCEND, 3 })
		all(func(r *pb.RangeRequest) { r.SortTarget, r.SortOrder = target, pb.RangeRequest_ASCEND })
		all(func(r *pb.RangeRequest) { r.SortTarget, r.Serializable = target, true })
	}
}

func compactions(s *side) {
	ask(s, s.kv().Compact, &pb.CompactionRequest{Revision: 1000})
	ask(s, s.kv().Compact, &pb.CompactionRequest{Revision: 10, Physical: true})
	ask(s, s.kv().Compact, &pb.CompactionRequest{Revision: 10})
	ask(s, s.kv().Compact, &pb.CompactionRequest{Revision: 3})
	ask(s, s.kv().Range, &pb.RangeRequest{Key: b("a"), Revision: 9})
	ask(s, s.kv().Range, &pb.RangeRequest{Key: b("a"), Revision: 10})
	ask(s, s.kv().Range, &pb.RangeRequest{Key: b("a"), Revision: 9, Serializable: true})
}

// streams is RangeStream: the pieces put together again.
func streams(s *side) {
	stream := func(r *pb.RangeRequest) {
		call := "RangeStream " + s.text(r)
		c, err := s.kv().RangeStream(s.who(), r)
		if err != nil {
			s.say(call, s.ended(nil, err))
			return
		}
		whole := &pb.RangeResponse{}
		for {
			piece, err := c.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				s.say(call, s.ended(nil, err))
				return
			}
			got := piece.RangeResponse
			whole.Kvs = append(whole.Kvs, got.Kvs...)
			whole.Header, whole.Count, whole.More = got.Header, got.Count, got.More
		}
		s.say(call, s.text(whole))
	}
	for i := range 30 {
		ask(s, s.kv().Put, put(fmt.Sprintf("many%02d", i), "v"))
	}
	stream(get("many", "manz"))
	stream(&pb.RangeRequest{Key: b("many"), RangeEnd: b("manz"), Limit: 17})
	stream(&pb.RangeRequest{Key: b("many"), RangeEnd: b("manz"), CountOnly: true})
	stream(&pb.RangeRequest{Key: b("many"), RangeEnd: b("manz"), KeysOnly: true, Limit: 3})
	stream(get("absent", ""))
	stream(&pb.RangeRequest{})
	stream(&pb.RangeRequest{Key: b("many"), Revision: 1 << 40})
	stream(&pb.RangeRequest{Key: b("many"), Revision: 2})
	stream(&pb.RangeRequest{Key: b("many"), SortOrder: pb.RangeRequest_DESCEND})
	stream(&pb.RangeRequest{Key: b("many"), SortOrder: pb.RangeRequest_ASCEND})
	stream(&pb.RangeRequest{Key: b("many"), MinModRevision: 5})
}

// transactions is Txn.
func transactions(s *side) {
	txn := func(t *pb.TxnRequest) { ask(s, s.kv().Txn, t) }
	txn(&pb.TxnRequest{})
	txn(&pb.TxnRequest{Success: []*pb.RequestOp{opPut("t", "1")}})
	txn(&pb.TxnRequest{Compare: []*pb.Compare{whereValue("t", "1")}, Success: []*pb.RequestOp{opPut("t", "2"), opGet("t", "")}, Failure: []*pb.RequestOp{opGet("t", "")}})
	txn(&pb.TxnRequest{Compare: []*pb.Compare{whereValue("t", "1")}, Success: []*pb.RequestOp{opPut("t", "2")}, Failure: []*pb.RequestOp{opGet("t", "")}})
	txn(&pb.TxnRequest{Compare: []*pb.Compare{whereVersion("absent", 0)}, Success: []*pb.RequestOp{opPut("u", "1"), opDelete("t", ""), opGet("t", "v")}})
	txn(&pb.TxnRequest{Compare: []*pb.Compare{{Key: b("absent"), Target: pb.Compare_VALUE, Result: pb.Compare_NOT_EQUAL, TargetUnion: &pb.Compare_Value{Value: b("x")}}}})
	for result := pb.Compare_EQUAL; result <= pb.Compare_NOT_EQUAL; result++ {
		txn(&pb.TxnRequest{Compare: []*pb.Compare{{Key: b("u"), Target: pb.Compare_MOD, Result: result, TargetUnion: &pb.Compare_ModRevision{ModRevision: 3}}}})
		txn(&pb.TxnRequest{Compare: []*pb.Compare{{Key: b("u"), Target: pb.Compare_CREATE, Result: result, TargetUnion: &pb.Compare_CreateRevision{CreateRevision: 1000}}}})
		txn(&pb.TxnRequest{Compare: []*pb.Compare{{Key: b("u"), Target: pb.Compare_LEASE, Result: result, TargetUnion: &pb.Compare_Lease{Lease: 0}}}})
	}
	txn(&pb.TxnRequest{Compare: []*pb.Compare{{Key: b("a"), RangeEnd: b("z"), Target: pb.Compare_VERSION, Result: pb.Compare_GREATER, TargetUnion: &pb.Compare_Version{Version: 0}}}})
	txn(&pb.TxnRequest{Compare: []*pb.Compare{{Key: b("x"), RangeEnd: b("y"), Target: pb.Compare_CREATE, TargetUnion: &pb.Compare_CreateRevision{}}}})
	txn(&pb.TxnRequest{Compare: []*pb.Compare{{Key: b("u"), Target: 17}}})
	txn(&pb.TxnRequest{Compare: []*pb.Compare{{Key: b("u"), Result: 17}}})
	txn(&pb.TxnRequest{Compare: []*pb.Compare{{}}})
	txn(&pb.TxnRequest{Success: []*pb.RequestOp{{}}})
	txn(&pb.TxnRequest{Success: []*pb.RequestOp{opPut("d", "1"), opPut("d", "2")}})
	txn(&pb.TxnRequest{Success: []*pb.RequestOp{opPut("d", "1"), opDelete("d", "")}})
	txn(&pb.TxnRequest{Success: []*pb.RequestOp{opDelete("a", "z"), opPut("d", "1")}})
	txn(&pb.TxnRequest{Success: []*pb.RequestOp{opPut("d", "1")}, Failure: []*pb.RequestOp{opPut("d", "2")}})
	txn(&pb.TxnRequest{Success: []*pb.RequestOp{opDelete("d", ""), opDelete("d", "")}})
	txn(&pb.TxnRequest{Success: []*pb.RequestOp{opPut("", "1")}})
	txn(&pb.TxnRequest{Success: []*pb.RequestOp{opGet("", "")}})
	txn(&pb.TxnRequest{Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: b("d"), Lease: 4711}}}}})
	txn(&pb.TxnRequest{Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: b("absent"), IgnoreValue: true}}}}})
	txn(&pb.TxnRequest{Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: b("u"), Revision: 1 << 40}}}}})
	txn(&pb.TxnRequest{Success: []*pb.RequestOp{opPut("u", "9"), {Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: b("u"), Revision: 1 << 40}}}}})
	inner := &pb.TxnRequest{Compare: []*pb.Compare{whereVersion("in", 0)}, Success: []*pb.RequestOp{opPut("in", "1")}, Failure: []*pb.RequestOp{opGet("in", "")}}
	txn(&pb.TxnRequest{Success: []*pb.RequestOp{opTxn(inner), opPut("out", "1")}})
	txn(&pb.TxnRequest{Success: []*pb.RequestOp{opTxn(inner), opGet("out", "")}})
	txn(&pb.TxnRequest{Success: []*pb.RequestOp{opTxn(inner), opPut("in", "2")}})
	txn(&pb.TxnRequest{Success: []*pb.RequestOp{opTxn(&pb.TxnRequest{Success: []*pb.RequestOp{opPut("in", "1"), opPut("in", "2")}})}})
	many := func(n int) (ops []*pb.RequestOp) {
		for i := range n {
			ops = append(ops, opPut(fmt.Sprintf("op%03d", i), ""))
		}
		return ops
	}
	txn(&pb.TxnRequest{Success: many(128)})
	txn(&pb.TxnRequest{Success: many(129)})
	txn(&pb.TxnRequest{Success: many(100), Failure: many(129)})
	compares := make([]*pb.Compare, 129)
	for i := range compares {
		compares[i] = whereVersion("u", 1)
	}
	txn(&pb.TxnRequest{Compare: compares})
	s.turnTo(1)
	txn(&pb.TxnRequest{Success: []*pb.RequestOp{opGet("in", "")}})
	txn(&pb.TxnRequest{Success: []*pb.RequestOp{opPut("in", "3")}})
	s.turnTo(0)
}
