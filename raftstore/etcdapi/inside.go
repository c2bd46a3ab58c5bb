package etcdapi

import (
	"context"
	"net"
	"net/http"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// inside is a client of the address within the process: for the lock and
// election services, which are recipes over the others, and the JSON gateway.
// It is made when it is needed first.
type inside struct {
	queue *queue

	mu     sync.Mutex
	conn   *grpc.ClientConn
	client *clientv3.Client
	json   http.Handler
	closed bool
}

// gateway translates JSON into calls.
func (i *inside) gateway() (http.Handler, error) {
	conn, err := i.dial()
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.json == nil {
		i.json, err = newGateway(conn)
	}
	return i.json, err
}

// dial gives the connection.
func (i *inside) dial() (*grpc.ClientConn, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return nil, rpctypes.ErrGRPCStopped
	}
	if i.conn != nil {
		return i.conn, nil
	}
	conn, err := grpc.NewClient("passthrough:///inside",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			here, there := net.Pipe()
			go i.queue.put(there)
			return here, nil
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxResponseBytes)),
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return call(passOn(ctx), method, req, reply, cc, opts...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			return open(passOn(ctx), desc, cc, method, opts...)
		}))
	if err != nil {
		return nil, err
	}
	i.conn = conn
	return conn, nil
}

// passOn asks in the name of the caller.
func passOn(ctx context.Context) context.Context {
	md, ok := metadata.FromIncomingContext(ctx)
	if !ok {
		return ctx
	}
	for _, key := range []string{rpctypes.TokenFieldNameGRPC, rpctypes.MetadataRequireLeaderKey} {
		if v := md.Get(key); len(v) > 0 {
			ctx = metadata.AppendToOutgoingContext(ctx, key, v[0])
		}
	}
	return ctx
}

// etcd gives the client.
//
// Mirrors etcd server/etcdserver/api/v3client/v3client.go New.
func (i *inside) etcd() (*clientv3.Client, error) {
	conn, err := i.dial()
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return nil, rpctypes.ErrGRPCStopped
	}
	if i.client == nil {
		c := clientv3.NewCtxClient(context.Background())
		c.KV = clientv3.NewKVFromKVClient(pb.NewKVClient(conn), c)
		c.Lease = clientv3.NewLeaseFromLeaseClient(pb.NewLeaseClient(conn), c, requestTimeout)
		c.Watcher = &watchOnce{clientv3.NewWatchFromWatchClient(pb.NewWatchClient(conn), c)}
		i.client = c
	}
	return i.client, nil
}

// watchOnce watches on one stream, whoever asks: clientv3 else opens one for every
// context.
type watchOnce struct{ clientv3.Watcher }

type namelessContext struct{ context.Context }

// String keeps clientv3 from telling contexts apart.
func (namelessContext) String() string { return "inside" }

func (w *watchOnce) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	return w.Watcher.Watch(namelessContext{ctx}, key, opts...)
}

func (i *inside) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	if i.client != nil {
		// Its lease and watch goroutines end; that their connection ends under them
		// is no news.
		_ = i.client.Close()
	}
	if i.conn != nil {
		_ = i.conn.Close()
	}
}
