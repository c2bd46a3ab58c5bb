// Package etcd3 reads and writes objects at the store: what Kubernetes calls
// storage.Interface (apiserver pkg/storage), in the two layers that implement it
// together: pkg/storage/etcd3, which turns objects into keys and transactions, and
// pkg/storage/cacher/delegator.go, which decides what the watch cache may answer in the
// store's place.
//
// A write is a transaction that compares the key's modification revision: one that is based on
// an old state changes nothing. What was done is recorded through the request's scope, as the
// stage "storage" (and "encrypt" or "decrypt" where values are encrypted); an error of a
// method is the request's refusal.
//
// Start reading at [Store.Create] and [Store.Current].
package etcd3

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
)

// Store reads and writes objects.
type Store struct {
	Conn     *storage.Conn
	Caches   func(*registry.Kind) *cacher.Cache // of which a kind's is opened when it is first asked for
	Sealed   func(*registry.Kind) *encrypt.Transformer
	EventTTL time.Duration
	Leases   *storage.Leases // of Events
}

// Key is where an object is.
type Key struct {
	Kind            *registry.Kind
	Namespace, Name string
}

// Short is the key without the kind's prefix, as the watch cache has it.
func (at Key) Short() string { return at.Kind.Key(at.Namespace, at.Name) }

func (at Key) String() string { return at.Kind.Prefix + at.Short() }

// Stored is an object as a request finds it: what a change begins with.
type Stored struct {
	Object   runtime.Object // shared: never changed
	Revision int64
	Cached   bool // it comes from the watch cache, and may be behind

	value []byte // decrypted
	stale bool   // it is encrypted otherwise than it would be now
}

// Size is how many bytes the object has at the store.
func (st *Stored) Size() int { return len(st.value) }

// Written is an object that has the revision at which it was stored.
type Written struct {
	Object runtime.Object
	Shared bool // the watch cache holds it: it is never changed
}

// Writer is on whose behalf something is written.
type Writer struct {
	DryRun bool
	// Component says that it is a component of this process. The watch cache takes what one
	// wrote as it is; what comes from outside it reads back from the bytes, as everybody else
	// would.
	Component bool
}

// Create writes an object where there is none (storage.Interface Create).
func (s *Store) Create(r *request.Scope, at Key, obj runtime.Object, by Writer) (Written, error) {
	value, err := encoded(r, at.Kind, obj)
	if err != nil {
		return Written{}, r.Refuse(trace.StageStorage, "", encodingError(err))
	}
	if by.DryRun {
		en, _, err := s.look(r.Task, at.Kind, at.Short())
		if err != nil {
			return Written{}, r.Refuse(trace.StageStorage, "", Error(err))
		}
		if en != nil {
			return Written{}, r.Refuse(trace.StageStorage, "", at.alreadyExists(en))
		}
		r.Pass(trace.StageStorage, "", "Dry run: nothing is written.", nil)
		return Written{Object: obj}, nil
	}
	key := at.String()
	sealed, err := s.seal(r, at.Kind, key, value)
	if err != nil {
		return Written{}, err
	}
	r.Pass(trace.StageStorage, "", "Write "+key+" ("+strconv.Itoa(len(sealed))+" bytes), if there is no such key.", nil)
	ok, rev, _, err := s.put(r, at.Kind, key, 0, obj, value, sealed, by)
	if err != nil {
		return Written{}, r.Refuse(trace.StageStorage, "", Error(err))
	}
	if !ok {
		return Written{}, r.Refuse(trace.StageStorage, "", at.alreadyExists(s.Caches(at.Kind).Get(at.Short())))
	}
	return s.written(r, at, obj, rev, value)
}

// alreadyExists is 409 in Kubernetes' words (generic/registry/store.go Create); who has
// the name, as far as is known, may be going.
func (at Key) alreadyExists(who *cacher.Entry) error {
	err := apierrors.NewAlreadyExists(at.Kind.GroupResource(), at.Name)
	if who != nil && object.Meta(who.Object).GetDeletionTimestamp() != nil {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return err
}

// ErrStale says that the object at the store is newer than the one the write is based on:
// the change has to begin with [Store.Current] again.
var ErrStale = errors.New("the object has been modified")

// encoded is the object's stored form.
func encoded(r *request.Scope, k *registry.Kind, obj runtime.Object) (value []byte, err error) {
	value = request.Offload(r, "encoding", func(obj runtime.Object) (value []byte) {
		value, err = registry.Encode(k, obj)
		return value
	}, obj)
	return value, err
}

// Update writes an object in place of one, if that is still there; else the error is
// [ErrStale] (the transaction of storage.Interface GuaranteedUpdate).
func (s *Store) Update(r *request.Scope, at Key, obj runtime.Object, old *Stored, by Writer) (Written, error) {
	value, err := encoded(r, at.Kind, obj)
	if err != nil {
		return Written{}, r.Refuse(trace.StageStorage, "", encodingError(err))
	}
	if by.DryRun {
		r.Pass(trace.StageStorage, "", "Dry run: nothing is written.", nil)
		return Written{Object: obj}, nil
	}
	if same, err := s.unchanged(r, at, obj, old, value); same || err != nil {
		return Written{Object: obj}, err
	}
	key := at.String()
	sealed, err := s.seal(r, at.Kind, key, value)
	if err != nil {
		return Written{}, err
	}
	r.Pass(trace.StageStorage, "", "Write "+key+" ("+strconv.Itoa(len(sealed))+" bytes), if it is still at revision "+object.FormatRevision(old.Revision)+".", nil)
	ok, rev, now, err := s.put(r, at.Kind, key, old.Revision, obj, value, sealed, by)
	if err != nil {
		return Written{}, r.Refuse(trace.StageStorage, "", Error(err))
	}
	if !ok {
		return Written{}, at.overtaken(r, old, now)
	}
	return s.written(r, at, obj, rev, value)
}

// unchanged ends an update that changes nothing: Kubernetes does not write then, and
// there is no watch event (etcd3 store.go GuaranteedUpdate), unless the value would
// be encrypted differently now.
func (s *Store) unchanged(r *request.Scope, at Key, obj runtime.Object, old *Stored, value []byte) (bool, error) {
	if !bytes.Equal(value, old.value) {
		return false, nil
	}
	if again, err := s.rewrites(r, at, old); again || err != nil {
		return false, err
	}
	r.Pass(trace.StageStorage, "", "The object is as it was; nothing is written.", nil)
	object.Meta(obj).SetResourceVersion(object.FormatRevision(old.Revision))
	return true, nil
}

// overtaken is a transaction that found another revision.
func (at Key) overtaken(r *request.Scope, old *Stored, now int64) error {
	if now == 0 {
		return r.Refuse(trace.StageStorage, "", at.notFound())
	}
	r.Tell(&trace.Stage{
		Request: r.Number, Stage: trace.StageStorage, Verdict: "pass",
		Note: "The key is at revision " + object.FormatRevision(now) + ", not " + object.FormatRevision(old.Revision) + ": another writer was faster. Read it and try again.",
	})
	return ErrStale
}

func (at Key) notFound() error { return apierrors.NewNotFound(at.Kind.GroupResource(), at.Name) }

// Delete removes an object if it is still as it was, else the error is [ErrStale]
// (storage.Interface Delete).
func (s *Store) Delete(r *request.Scope, at Key, old *Stored, by Writer) error {
	if by.DryRun {
		r.Pass(trace.StageStorage, "", "Dry run: nothing is deleted.", nil)
		return nil
	}
	key := at.String()
	r.Pass(trace.StageStorage, "", "Delete "+key+", if it is still at revision "+object.FormatRevision(old.Revision)+".", nil)
	ok, _, now, err := s.txn(r, key, old.Revision, &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{
		RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte(key)},
	}})
	if err != nil {
		return r.Refuse(trace.StageStorage, "", Error(err))
	}
	if !ok {
		return at.overtaken(r, old, now)
	}
	return nil
}

// put writes the object, sealed: its value encrypted.
func (s *Store) put(r *request.Scope, k *registry.Kind, key string, rev int64, obj runtime.Object, value, sealed []byte, by Writer) (ok bool, made, now int64, err error) {
	cache := s.Caches(k) // opened before, so that it hears of it
	if short := key[len(k.Prefix):]; by.Component {
		defer cache.Forget(short, cache.Expect(short, obj, value, sealed))
	}
	op := storage.Put(key, sealed)
	if k.Is("Event") { // they go with their lease (kube-apiserver --event-ttl)
		id, err := s.Leases.Get(r.Ask(), s.EventTTL)
		if err != nil {
			return false, 0, 0, err
		}
		op.GetRequestPut().Lease = id
	}
	return s.txn(r, key, rev, op)
}

// txn runs op if the key's modification revision is rev (0: there is no such
// key). now is the key's revision if it is another, 0 if it is gone.
func (s *Store) txn(r *request.Scope, key string, rev int64, op *pb.RequestOp) (ok bool, made, now int64, err error) {
	resp, commit, err := s.Conn.Txn(r.Ask(), storage.IfUnmoved([]byte(key), rev, op))
	if err != nil {
		return false, 0, 0, err
	}
	if !resp.Succeeded {
		r.Last = commit // what the store found is why the request ends or starts over
		if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
			now = kvs[0].ModRevision
		}
		return false, 0, now, nil
	}
	if !commit.IsZero() {
		r.Commits = append(r.Commits, commit)
	}
	return true, resp.Header.Revision, 0, nil
}

// written is the object as it now is at the store.
func (s *Store) written(r *request.Scope, at Key, obj runtime.Object, rev int64, value []byte) (Written, error) {
	if at.Kind.Converts() { // what the store holds is another version: it is converted back
		obj, err := registry.Decode(at.Kind, value, rev)
		if err != nil {
			return Written{}, r.Refuse(trace.StageStorage, "", encodingError(err))
		}
		return Written{Object: obj}, nil
	}
	if shared := s.Caches(at.Kind).Written(at.Short(), rev); shared != nil {
		return Written{Object: shared, Shared: true}, nil
	}
	object.Meta(obj).SetResourceVersion(object.FormatRevision(rev))
	return Written{Object: obj}, nil
}

// Error is a failure of the store, as the client hears it: in the store's own words
// ("etcdserver: request timed out"), as with a real cluster.
func Error(err error) error {
	var bad *cacher.Untransformable
	if errors.As(err, &bad) {
		return undecryptable(bad, bad.Err)
	}
	if bad := (*crd.Unconverted)(nil); errors.As(err, &bad) {
		return bad
	}
	if errors.Is(err, context.DeadlineExceeded) { // endpoints/handlers/finisher FinishRequest
		return apierrors.NewTimeoutError("request did not complete within requested timeout - "+err.Error(), 0)
	}
	return request.PlainError(err)
}

// encodingError is of an object that could not be brought into the form that is
// stored, or back.
func encodingError(err error) error {
	if bad := (*crd.Unconverted)(nil); errors.As(err, &bad) {
		return bad
	}
	return apierrors.NewInternalError(err)
}
