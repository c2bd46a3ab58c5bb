package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"testing"
	"time"
	"unsafe"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/auth"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3alarm"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	etcdapply "go.etcd.io/etcd/server/v3/etcdserver/apply"
	"go.etcd.io/etcd/server/v3/etcdserver/cindex"
	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/backend"
	etcdmvcc "go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/crypto/bcrypt"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore/mvcc"
)

// etcd is an etcd member's own code from where an entry is applied on: its
// appliers, over its key-value store, lessor, auth store and alarms, over bbolt.
// In front of them are the checks of its gRPC layer.
type etcd struct {
	be     backend.Backend
	kv     etcdmvcc.WatchableKV
	lessor lease.Lessor
	auth   auth.AuthStore
	users  auth.AuthBackend
	alarms *v3alarm.AlarmStore
	cindex cindex.ConsistentIndexer
	uber   etcdapply.UberApplier
	checks pb.KVServer
	watch  <-chan etcdmvcc.WatchResponse
}

// fatal shows where etcd gives up, instead of ending without a word.
type fatal struct{}

func (fatal) OnWrite(e *zapcore.CheckedEntry, _ []zapcore.Field) {
	fmt.Fprintf(os.Stderr, "etcd gave up: %s\n%s\n", e.Message, debug.Stack())
	os.Exit(2)
}

type noRaft struct{}

func (noRaft) MemberID() types.ID     { return 0 }
func (noRaft) Leader() types.ID       { return 0 }
func (noRaft) CommittedIndex() uint64 { return 0 }
func (noRaft) AppliedIndex() uint64   { return 0 }
func (noRaft) Term() uint64           { return 0 }
func (noRaft) ForceSnapshot()         {}

func newEtcd(t testing.TB, quota int64) *etcd {
	t.Helper()
	lg := zap.NewNop().WithOptions(zap.WithFatalHook(fatal{}))
	cfg := backend.DefaultBackendConfig(lg)
	cfg.BatchInterval = time.Hour // it commits when it is told to, and when it is full
	cfg.Path, cfg.UnsafeNoFsync, cfg.MmapSize = filepath.Join(t.TempDir(), "db"), true, 64<<20
	e := &etcd{be: backend.New(cfg)}
	cluster := membership.NewCluster(lg)
	e.lessor = lease.NewLessor(lg, e.be, cluster, lease.LessorConfig{MinLeaseTTL: mvcc.MinLeaseTTL, CheckpointPersist: true})
	e.kv = etcdmvcc.New(lg, e.be, e.lessor, etcdmvcc.StoreConfig{})
	var err error
	if e.alarms, err = v3alarm.NewAlarmStore(lg, schema.NewAlarmBackend(lg, e.be)); err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	close(ready)
	tokens, err := auth.NewTokenProvider(lg, "simple", func(uint64) <-chan struct{} { return ready }, TokenTTL)
	if err != nil {
		t.Fatal(err)
	}
	e.users = schema.NewAuthBackend(lg, e.be)
	e.auth = auth.NewAuthStore(lg, e.users, tokens, bcrypt.MinCost)
	e.cindex = cindex.NewConsistentIndex(e.be)
	e.uber = etcdapply.NewUberApplier(etcdapply.ApplierOptions{
		Logger: lg, KV: e.kv, AlarmStore: e.alarms, AuthStore: e.auth, Lessor: e.lessor, Cluster: cluster,
		RaftStatus: noRaft{}, SnapshotServer: noRaft{}, ConsistentIndex: e.cindex,
		TxnModeWriteWithSharedBuffer: true, Backend: e.be, QuotaBackendBytesCfg: quota, WarningApplyDuration: time.Hour,
	})
	ws := e.kv.NewWatchStream()
	if _, err := ws.Watch(context.Background(), 1, []byte{0}, []byte{}, 0); err != nil {
		t.Fatal(err)
	}
	e.watch = ws.Chan()
	e.checks = checks()
	t.Cleanup(func() {
		ws.Close()
		e.auth.Close()
		e.kv.Close()
		e.lessor.Stop()
		e.be.Close()
	})
	return e
}

// checks is etcd's gRPC service over a server that is not there: a request that
// passes the checks panics behind them.
func checks() pb.KVServer {
	s := &etcdserver.EtcdServer{}
	s.Cfg.MaxTxnOps = mvcc.MaxTxnOps
	f := reflect.ValueOf(s).Elem().FieldByName("cluster")
	reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem().Set(reflect.ValueOf(membership.NewCluster(zap.NewNop())))
	return v3rpc.NewKVServer(s)
}

// check is what etcd's gRPC layer says of a request; nil lets it pass.
func (e *etcd) check(req *pb.InternalRaftRequest) (err error) {
	defer func() {
		if recover() != nil {
			err = nil
		}
	}()
	ctx := context.Background()
	switch {
	case req.Range != nil:
		_, err = e.checks.Range(ctx, proto.Clone(req.Range).(*pb.RangeRequest))
	case req.Put != nil:
		_, err = e.checks.Put(ctx, proto.Clone(req.Put).(*pb.PutRequest))
	case req.DeleteRange != nil:
		_, err = e.checks.DeleteRange(ctx, proto.Clone(req.DeleteRange).(*pb.DeleteRangeRequest))
	case req.Txn != nil:
		_, err = e.checks.Txn(ctx, proto.Clone(req.Txn).(*pb.TxnRequest))
	}
	return err
}

// apply is an entry's way through etcd.
func (e *etcd) apply(index uint64, req *pb.InternalRaftRequest) *mvcc.Result {
	if err := e.check(req); err != nil {
		return &mvcc.Result{Err: err, Revision: e.kv.Rev()}
	}
	e.cindex.SetConsistentIndex(index, 1)
	r := e.uber.Apply(&etcdapply.InternalRaftRequestWrapper{InternalRaftRequest: proto.Clone(req).(*pb.InternalRaftRequest)}, membership.ApplyBoth)
	if r.Physc != nil {
		<-r.Physc
	}
	res := &mvcc.Result{Err: clientError(r.Err), Revision: e.kv.Rev(), Events: e.events()}
	if r.Err == nil && r.Resp != nil && !reflect.ValueOf(r.Resp).IsNil() {
		res.Response = r.Resp
	}
	return res
}

// events are what a watcher of everything got of the last request, with the
// states before as etcd's watch server looks them up.
func (e *etcd) events() (list []*mvccpb.Event) {
	for {
		select {
		case r := <-e.watch:
			for _, ev := range r.Events {
				list = append(list, &mvccpb.Event{Type: ev.Type, Kv: ev.Kv, PrevKv: e.at(ev.Kv.Key, ev.Kv.ModRevision-1)})
			}
		default:
			return list
		}
	}
}

func (e *etcd) at(key []byte, rev int64) *mvccpb.KeyValue {
	r, err := e.kv.Range(context.Background(), key, nil, etcdmvcc.RangeOptions{Rev: rev})
	if err != nil || len(r.KVs) == 0 {
		return nil
	}
	return r.KVs[0]
}

// clientError is what etcd's gRPC layer makes of its own errors (v3rpc
// togRPCError).
func clientError(err error) error {
	for inner, outer := range map[error]error{
		etcdmvcc.ErrCompacted: rpctypes.ErrGRPCCompacted, etcdmvcc.ErrFutureRev: rpctypes.ErrGRPCFutureRev,
		etcderrors.ErrNoSpace: rpctypes.ErrGRPCNoSpace, etcderrors.ErrCorrupt: rpctypes.ErrGRPCCorrupt,
		etcderrors.ErrKeyNotFound: rpctypes.ErrGRPCKeyNotFound,
		lease.ErrLeaseNotFound:    rpctypes.ErrGRPCLeaseNotFound, lease.ErrLeaseExists: rpctypes.ErrGRPCLeaseExist,
		lease.ErrLeaseTTLTooLarge: rpctypes.ErrGRPCLeaseTTLTooLarge,
		auth.ErrRootUserNotExist:  rpctypes.ErrGRPCRootUserNotExist, auth.ErrRootRoleNotExist: rpctypes.ErrGRPCRootRoleNotExist,
		auth.ErrUserAlreadyExist: rpctypes.ErrGRPCUserAlreadyExist, auth.ErrUserEmpty: rpctypes.ErrGRPCUserEmpty,
		auth.ErrUserNotFound: rpctypes.ErrGRPCUserNotFound, auth.ErrRoleAlreadyExist: rpctypes.ErrGRPCRoleAlreadyExist,
		auth.ErrRoleNotFound: rpctypes.ErrGRPCRoleNotFound, auth.ErrRoleEmpty: rpctypes.ErrGRPCRoleEmpty,
		auth.ErrAuthFailed: rpctypes.ErrGRPCAuthFailed, auth.ErrPermissionNotGiven: rpctypes.ErrGRPCPermissionNotGiven,
		auth.ErrPermissionDenied: rpctypes.ErrGRPCPermissionDenied, auth.ErrRoleNotGranted: rpctypes.ErrGRPCRoleNotGranted,
		auth.ErrPermissionNotGranted: rpctypes.ErrGRPCPermissionNotGranted, auth.ErrAuthNotEnabled: rpctypes.ErrGRPCAuthNotEnabled,
		auth.ErrInvalidAuthToken: rpctypes.ErrGRPCInvalidAuthToken, auth.ErrInvalidAuthMgmt: rpctypes.ErrGRPCInvalidAuthMgmt,
		auth.ErrAuthOldRevision: rpctypes.ErrGRPCAuthOldRevision,
	} {
		if errors.Is(err, inner) {
			return outer
		}
	}
	return err
}
