package bootstrap

import (
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/sim"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
)

// Writer writes objects past the pipeline, and leaves alone what exists.
type Writer struct {
	Store       Store
	Transformer func(*registry.Kind) *encrypt.Transformer
}

// Store is the server's connection to the store.
type Store interface {
	Txn(t *sim.Task, r *pb.TxnRequest) (resp *pb.TxnResponse, commit trace.ID, err error)
}

const (
	// transactionOps is how many operations go into one transaction; etcd allows 128.
	transactionOps = 100
	// retryEvery is how long it waits for a store, or a KMS plugin, that is down.
	retryEvery = time.Second
)

// Write writes the objects, however long it takes.
func (w *Writer) Write(t *sim.Task, objs []Object) {
	for len(objs) > 0 {
		n := min(transactionOps, len(objs))
		w.write(t, objs[:n])
		objs = objs[n:]
	}
}

// write is a transaction, which writes nothing where one of the objects exists.
func (w *Writer) write(t *sim.Task, objs []Object) {
	req := &pb.TxnRequest{}
	for _, o := range objs {
		key := o.Kind.Prefix + o.Kind.Key(object.Meta(o.Object).GetNamespace(), object.Meta(o.Object).GetName())
		value, err := registry.Encode(o.Kind, o.Object)
		if err != nil {
			panic("bootstrap: " + err.Error()) // objects of our own: it works always or never
		}
		sealed, err := w.Transformer(o.Kind).Write(t, key, value)
		for ; err != nil; sealed, err = w.Transformer(o.Kind).Write(t, key, value) {
			t.Sleep(retryEvery)
		}
		req.Compare = append(req.Compare, &pb.Compare{Result: pb.Compare_EQUAL, Target: pb.Compare_MOD, Key: []byte(key), TargetUnion: &pb.Compare_ModRevision{}})
		req.Success = append(req.Success, storage.Put(key, sealed))
	}
	for {
		if _, _, err := w.Store.Txn(t, req); err == nil {
			return
		}
		t.Sleep(retryEvery)
	}
}
