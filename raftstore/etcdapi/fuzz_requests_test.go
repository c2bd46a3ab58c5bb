package etcdapi_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore/steady"
)

// plain sends bytes as they are, whatever the method takes.
type plain struct{}

func (plain) Name() string { return "proto" }

func (plain) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (plain) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// method is one that is served.
type method struct {
	name   string
	stream bool
}

// served are the methods of etcd's services, in order. Watch is not among them: its
// stream stays open when a client has said all it wants (FuzzWatchRequests).
func served() (list []method) {
	for _, s := range []grpc.ServiceDesc{
		pb.KV_ServiceDesc, pb.Lease_ServiceDesc, pb.Cluster_ServiceDesc, pb.Maintenance_ServiceDesc, pb.Auth_ServiceDesc,
	} {
		for _, m := range s.Methods {
			list = append(list, method{name: "/" + s.ServiceName + "/" + m.MethodName})
		}
		for _, m := range s.Streams {
			list = append(list, method{name: "/" + s.ServiceName + "/" + m.StreamName, stream: true})
		}
	}
	slices.SortFunc(list, func(a, b method) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return list
}

// FuzzRequests sends any bytes as the request of any method. It is answered or
// refused, in time, and the store goes on.
func FuzzRequests(f *testing.F) {
	_, conn := fuzzed(f)
	methods := served()
	for i, m := range methods {
		f.Add(byte(i), []byte{})
		f.Add(byte(i), []byte{0x0a, 0x01, 'a', 0x12, 0x01, 0x00, 0x18, 0x05})
		if m.name == "/etcdserverpb.KV/Txn" {
			b, err := proto.Marshal(then(put("a", "1"), get("a", false), nested(then(del("b", "c")))))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(byte(i), b)
		}
	}
	kv, users := pb.NewKVClient(conn), pb.NewAuthClient(conn)
	f.Fuzz(func(t *testing.T, which byte, data []byte) {
		m := methods[int(which)%len(methods)]
		if m.name == "/etcdserverpb.Auth/AuthEnable" {
			return // without root it is refused; with one nobody gets in any more
		}
		ctx, cancel := context.WithTimeout(t.Context(), steady.Patience(t))
		defer cancel()
		err := send(ctx, conn, m, data)
		if code := status.Code(err); code == codes.DeadlineExceeded || code == codes.Unavailable && !known(err) {
			t.Fatalf("%s with %x: %v", m.name, data, err)
		}
		if m.name == "/etcdserverpb.Maintenance/Alarm" {
			// A raised alarm refuses what comes after.
			alarms := pb.NewMaintenanceClient(conn)
			list, err := alarms.Alarm(ctx, &pb.AlarmRequest{})
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range list.Alarms {
				if _, err := alarms.Alarm(ctx, &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, MemberID: a.MemberID, Alarm: a.Alarm}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := kv.Put(ctx, &pb.PutRequest{Key: []byte("after"), Value: []byte("x")}); err != nil {
			t.Fatalf("after %s with %x nothing can be put: %v", m.name, data, err)
		}
		if r, err := users.AuthStatus(ctx, &pb.AuthStatusRequest{}); err != nil || r.Enabled {
			t.Fatalf("users count now: %v (%v)", r, err)
		}
	})
}

// known says that an error is one of etcd's, not that of a connection that broke.
func known(err error) bool {
	var etcd rpctypes.EtcdError
	return errors.As(rpctypes.Error(err), &etcd)
}

// send asks once, and reads the first of what a stream answers.
func send(ctx context.Context, conn *grpc.ClientConn, m method, data []byte) error {
	var reply []byte
	codec := grpc.ForceCodecV2(plain{})
	if !m.stream {
		return conn.Invoke(ctx, m.name, &data, &reply, codec)
	}
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, m.name, codec)
	if err != nil {
		return err
	}
	if err := s.SendMsg(&data); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	err = s.RecvMsg(&reply)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
