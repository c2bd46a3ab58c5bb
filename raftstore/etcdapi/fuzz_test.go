package etcdapi_test

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/pkg/v3/adt"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore"
	"kviz/raftstore/etcdapi"
	"kviz/raftstore/mvcc"
	"kviz/raftstore/steady"
)

// fuzzed is a bare store behind an address that lives as long as the fuzzing.
func fuzzed(f *testing.F) (*etcdapi.Server, *grpc.ClientConn) {
	f.Helper()
	store := raftstore.OpenBareWith(raftstore.Config{BcryptCost: 4})
	server, err := etcdapi.Serve(store, etcdapi.Config{})
	if err != nil {
		f.Fatal(err)
	}
	conn, err := grpc.NewClient(server.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		conn.Close()
		if err := server.Close(); err != nil {
			f.Error(err)
		}
		if err := store.Close(); err != nil {
			f.Error(err)
		}
	})
	return server, conn
}

// FuzzWatchRequests sends a stream whatever can be sent, and then asks for
// something that must be answered.
func FuzzWatchRequests(f *testing.F) {
	_, conn := fuzzed(f)
	for i := range 20 {
		if _, err := pb.NewKVClient(conn).Put(f.Context(), &pb.PutRequest{Key: []byte{byte('a' + i%3)}, Value: []byte("1")}); err != nil {
			f.Fatal(err)
		}
	}
	if _, err := pb.NewKVClient(conn).Compact(f.Context(), &pb.CompactionRequest{Revision: 5}); err != nil {
		f.Fatal(err)
	}
	seed := func(list ...*pb.WatchRequest) {
		var b []byte
		for _, r := range list {
			one, err := proto.Marshal(r)
			if err != nil {
				f.Fatal(err)
			}
			b = append(append(b, byte(len(one))), one...)
		}
		f.Add(b)
	}
	create := func(r *pb.WatchCreateRequest) *pb.WatchRequest {
		return &pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: r}}
	}
	seed(create(&pb.WatchCreateRequest{Key: []byte("a"), StartRevision: 2}), create(&pb.WatchCreateRequest{RangeEnd: []byte{0}, StartRevision: 7, PrevKv: true, Fragment: true}))
	seed(create(&pb.WatchCreateRequest{Key: []byte("b"), WatchId: -1}), &pb.WatchRequest{RequestUnion: &pb.WatchRequest_CancelRequest{CancelRequest: &pb.WatchCancelRequest{WatchId: -1}}})
	seed(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{ProgressRequest: &pb.WatchProgressRequest{}}}, &pb.WatchRequest{})
	f.Fuzz(func(t *testing.T, data []byte) {
		stream, err := pb.NewWatchClient(conn).Watch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for len(data) > 1 {
			n := min(int(data[0]), len(data)-1)
			r := &pb.WatchRequest{}
			if proto.Unmarshal(data[1:1+n], r) == nil {
				if err := stream.Send(r); err != nil {
					t.Fatal(err)
				}
			}
			data = data[1+n:]
		}
		const mine = 1 << 40
		if err := stream.Send(create(&pb.WatchCreateRequest{Key: []byte("a"), WatchId: mine})); err != nil {
			t.Fatal(err)
		}
		for {
			r, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if r.Created && (r.WatchId == mine || r.Canceled && r.CancelReason == "mvcc: duplicate watch ID provided on the WatchStream") {
				return
			}
		}
	})
}

// FuzzTokens gives requests any metadata while users count: nobody gets in.
func FuzzTokens(f *testing.F) {
	_, conn := fuzzed(f)
	users := pb.NewAuthClient(conn)
	for _, fn := range []func() error{
		func() error {
			_, err := users.UserAdd(f.Context(), &pb.AuthUserAddRequest{Name: "root", Password: "r", Options: nil})
			return err
		},
		func() error {
			_, err := users.UserGrantRole(f.Context(), &pb.AuthUserGrantRoleRequest{User: "root", Role: "root"})
			return err
		},
		func() error { _, err := users.AuthEnable(f.Context(), &pb.AuthEnableRequest{}); return err },
	} {
		if err := fn(); err != nil {
			f.Fatal(err)
		}
	}
	for _, s := range []string{"", "x", "x.1", "Bearer x.0", ".", "abc.18446744073709551616", "a.-1", "Bearer "} {
		f.Add(s, "3.7", "true")
	}
	f.Fuzz(func(t *testing.T, token, version, leader string) {
		for _, key := range []string{rpctypes.TokenFieldNameGRPC, rpctypes.TokenFieldNameSwagger} {
			ctx := metadata.AppendToOutgoingContext(t.Context(), key, token, rpctypes.MetadataClientAPIVersionKey, version, rpctypes.MetadataRequireLeaderKey, leader)
			_, getErr := pb.NewKVClient(conn).Range(ctx, &pb.RangeRequest{Key: []byte("a")})
			_, putErr := pb.NewKVClient(conn).Put(ctx, &pb.PutRequest{Key: []byte("a")})
			_, listErr := users.UserList(ctx, &pb.AuthUserListRequest{})
			for _, err := range []error{getErr, putErr, listErr} {
				switch status.Code(err) {
				case codes.Unauthenticated, codes.InvalidArgument, codes.PermissionDenied:
				case codes.Internal: // the client does not send it
				default:
					t.Fatalf("%q: %v", token, err)
				}
			}
		}
	})
}

// FuzzFirstBytes lets anybody connect and say anything.
func FuzzFirstBytes(f *testing.F) {
	server, conn := fuzzed(f)
	f.Add([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	f.Add([]byte("GET /health HTTP/1.1\r\nHost: x\r\n\r\n"))
	f.Add([]byte("POST /v3/kv/range HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\n{\"key\":\"YQ=="))
	f.Add([]byte("PR"))
	f.Add([]byte{0x16, 3, 1, 0, 5})
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := net.Dial("tcp", server.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write(data); err != nil {
			return // it was told to go
		}
		if err := c.(*net.TCPConn).CloseWrite(); err != nil {
			return
		}
		if err := c.SetReadDeadline(time.Now().Add(steady.Patience(t))); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, c); err != nil {
			if e, ok := err.(net.Error); ok && e.Timeout() {
				t.Fatalf("%q: neither answered nor ended", data)
			}
		}
		if _, err := pb.NewKVClient(conn).Range(t.Context(), &pb.RangeRequest{Key: []byte("a")}); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzTxnChecks compares what is refused before a transaction goes into the log
// with etcd's own checks.
func FuzzTxnChecks(f *testing.F) {
	for _, t := range []*pb.TxnRequest{
		then(put("a", ""), put("a", "")), then(del("a", "c"), nested(then(put("b", "")))), then(nested(&pb.TxnRequest{Success: []*pb.RequestOp{put("a", "")}, Failure: []*pb.RequestOp{put("a", "")}})),
		then(del("a", "\x00"), put("b", "")), then(get("a", false)), then(many(129, put("a", ""))...),
	} {
		b, err := proto.Marshal(t)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &pb.TxnRequest{}
		if proto.Unmarshal(data, r) != nil {
			return
		}
		got, want := mvcc.CheckTxn(r), etcdCheckTxn(r)
		if got != want {
			t.Fatalf("%v, etcd says %v of %v", got, want, r)
		}
	})
}

// etcdCheckTxn is etcd's server/etcdserver/api/v3rpc/key.go, Txn.
func etcdCheckTxn(r *pb.TxnRequest) error {
	if err := checkTxnRequest(r, 128); err != nil {
		return err
	}
	if _, _, err := checkIntervals(r.Success); err != nil {
		return err
	}
	_, _, err := checkIntervals(r.Failure)
	return err
}

func checkTxnRequest(r *pb.TxnRequest, most int) error {
	opc := max(len(r.Compare), len(r.Success), len(r.Failure))
	if opc > most {
		return rpctypes.ErrGRPCTooManyOps
	}
	for _, c := range r.Compare {
		if len(c.Key) == 0 {
			return rpctypes.ErrGRPCEmptyKey
		}
	}
	for _, ops := range [2][]*pb.RequestOp{r.Success, r.Failure} {
		for _, u := range ops {
			if err := checkRequestOp(u, most-opc); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkRequestOp(u *pb.RequestOp, most int) error {
	switch uv := u.Request.(type) {
	case *pb.RequestOp_RequestRange:
		r := uv.RequestRange
		_, order := pb.RangeRequest_SortOrder_name[int32(r.SortOrder)]
		_, target := pb.RangeRequest_SortTarget_name[int32(r.SortTarget)]
		switch {
		case len(r.Key) == 0:
			return rpctypes.ErrGRPCEmptyKey
		case !order || !target:
			return rpctypes.ErrGRPCInvalidSortOption
		}
	case *pb.RequestOp_RequestPut:
		r := uv.RequestPut
		switch {
		case len(r.Key) == 0:
			return rpctypes.ErrGRPCEmptyKey
		case r.IgnoreValue && len(r.Value) != 0:
			return rpctypes.ErrGRPCValueProvided
		case r.IgnoreLease && r.Lease != 0:
			return rpctypes.ErrGRPCLeaseProvided
		}
	case *pb.RequestOp_RequestDeleteRange:
		if len(uv.RequestDeleteRange.Key) == 0 {
			return rpctypes.ErrGRPCEmptyKey
		}
	case *pb.RequestOp_RequestTxn:
		return checkTxnRequest(uv.RequestTxn, most)
	default:
		return rpctypes.ErrGRPCKeyNotFound
	}
	return nil
}

func checkIntervals(reqs []*pb.RequestOp) (map[string]struct{}, adt.IntervalTree, error) {
	dels := adt.NewIntervalTree()
	for _, req := range reqs {
		d := req.GetRequestDeleteRange()
		if d == nil {
			continue
		}
		iv := adt.NewStringAffinePoint(string(d.Key))
		if len(d.RangeEnd) != 0 {
			iv = adt.NewStringAffineInterval(string(d.Key), string(d.RangeEnd))
		}
		dels.Insert(iv, struct{}{})
	}
	puts := make(map[string]struct{})
	add := func(k string, safe map[string]struct{}) error {
		if _, ok := puts[k]; ok {
			if _, isSafe := safe[k]; !isSafe {
				return rpctypes.ErrGRPCDuplicateKey
			}
		}
		if dels.Intersects(adt.NewStringAffinePoint(k)) {
			return rpctypes.ErrGRPCDuplicateKey
		}
		puts[k] = struct{}{}
		return nil
	}
	for _, req := range reqs {
		inner := req.GetRequestTxn()
		if inner == nil {
			continue
		}
		putsThen, delsThen, err := checkIntervals(inner.Success)
		if err != nil {
			return nil, dels, err
		}
		putsElse, delsElse, err := checkIntervals(inner.Failure)
		if err != nil {
			return nil, dels, err
		}
		for k := range putsThen {
			if err := add(k, nil); err != nil {
				return nil, dels, err
			}
		}
		for k := range putsElse {
			if err := add(k, putsThen); err != nil {
				return nil, dels, err
			}
		}
		dels.Union(delsThen, adt.NewStringAffineInterval("\x00", ""))
		dels.Union(delsElse, adt.NewStringAffineInterval("\x00", ""))
	}
	for _, req := range reqs {
		if p := req.GetRequestPut(); p != nil {
			if err := add(string(p.Key), nil); err != nil {
				return nil, dels, err
			}
		}
	}
	return puts, dels, nil
}

// FuzzRangeStream: the pieces are the answer.
func FuzzRangeStream(f *testing.F) {
	_, conn := fuzzed(f)
	kv := pb.NewKVClient(conn)
	for i := range 60 {
		if _, err := kv.Put(f.Context(), &pb.PutRequest{Key: []byte{'a', byte(i % 40)}, Value: bytes.Repeat([]byte("v"), i)}); err != nil {
			f.Fatal(err)
		}
	}
	if _, err := kv.Compact(f.Context(), &pb.CompactionRequest{Revision: 20}); err != nil {
		f.Fatal(err)
	}
	for _, r := range []*pb.RangeRequest{
		{Key: []byte("a"), RangeEnd: []byte("b")},
		{Key: []byte("a"), RangeEnd: []byte{0}, Limit: 15, KeysOnly: true},
		{Key: []byte("a\x01"), Revision: 30},
		{Key: []byte("a"), RangeEnd: []byte("b"), CountOnly: true},
		{Key: []byte("a"), RangeEnd: []byte("b"), Limit: 10, Serializable: true, Revision: 3},
	} {
		b, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &pb.RangeRequest{}
		if proto.Unmarshal(data, r) != nil {
			return
		}
		whole, wholeErr := kv.Range(t.Context(), r)
		stream, err := kv.RangeStream(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		got := &pb.RangeResponse{}
		for {
			piece, err := stream.Recv()
			if err == io.EOF {
				break
			}
			if err != nil {
				if status.Code(err) != codes.Unimplemented && status.Convert(err).Message() != status.Convert(wholeErr).Message() {
					t.Fatalf("stream: %v, range: %v", err, wholeErr)
				}
				return
			}
			got.Kvs = append(got.Kvs, piece.RangeResponse.Kvs...)
			got.Header, got.Count, got.More = piece.RangeResponse.Header, piece.RangeResponse.Count, piece.RangeResponse.More
		}
		// etcd's limit below zero is none; its streams take it for one that is reached.
		if r.SortTarget == pb.RangeRequest_KEY && r.Limit >= 0 && !proto.Equal(got, whole) {
			t.Fatalf("stream\n%v\nrange\n%v", got, whole)
		}
	})
}
