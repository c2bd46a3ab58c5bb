package apiserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
)

// Writes are transactions that compare the key's modification revision, as
// apiserver pkg/storage/etcd3/store.go does: a write based on an old state
// changes nothing.

// keyOf is the key of an object without the kind's prefix.
func keyOf(k *registry.Kind, namespace, name string) string {
	if k.Namespaced {
		return namespace + "/" + name
	}
	return name
}

// storeKey is the key at the store.
func (c *call) storeKey() string {
	return c.kind.Prefix + keyOf(c.kind, c.Ref.Namespace, c.Ref.Name)
}

func (c *call) cache() *cacher.Cache { return c.s.cacheOf(c.kind) }

// insert is the storage stage of a creation.
func (c *call) insert(in approved) (written, error) {
	key := c.storeKey()
	value, err := registry.Encode(c.kind, in.obj)
	if err != nil {
		return written{}, c.Refuse(trace.StageStorage, "", encodingError(err))
	}
	if c.req.DryRun {
		en, err := c.s.read(c.Task, c.kind, strings.TrimPrefix(key, c.kind.Prefix))
		if err != nil {
			return written{}, c.Refuse(trace.StageStorage, "", storeError(err))
		}
		if en != nil {
			return written{}, c.Refuse(trace.StageStorage, "", c.alreadyExists(en))
		}
		c.Pass(trace.StageStorage, "", "Dry run: nothing is written.", nil)
		return written{obj: in.obj}, nil
	}
	sealed, err := c.seal(key, value)
	if err != nil {
		return written{}, err
	}
	c.Pass(trace.StageStorage, "", "Write "+key+" ("+strconv.Itoa(len(sealed))+" bytes), if there is no such key.", nil)
	ok, rev, _, err := c.put(key, 0, in.obj, value, sealed)
	if err != nil {
		return written{}, c.Refuse(trace.StageStorage, "", storeError(err))
	}
	if !ok {
		return written{}, c.Refuse(trace.StageStorage, "", c.alreadyExists(c.cache().Get(keyOf(c.kind, c.Ref.Namespace, c.Ref.Name))))
	}
	return c.written(in.obj, rev, value)
}

// alreadyExists is 409 in Kubernetes' words (generic/registry/store.go Create); who has
// the name, as far as is known, may be going.
func (c *call) alreadyExists(who *cacher.Entry) error {
	err := apierrors.NewAlreadyExists(c.kind.GroupResource(), c.Ref.Name)
	if who != nil && object.Meta(who.Object).GetDeletionTimestamp() != nil {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return err
}

// errStale says that the object at the store is newer than the one the write
// is based on.
var errStale = errors.New("the object has been modified")

// replace is the storage stage of an update; errStale asks for another round.
func (c *call) replace(in approved, old *stored) (written, error) {
	key := c.storeKey()
	value, err := registry.Encode(c.kind, in.obj)
	if err != nil {
		return written{}, c.Refuse(trace.StageStorage, "", encodingError(err))
	}
	if c.req.DryRun {
		c.Pass(trace.StageStorage, "", "Dry run: nothing is written.", nil)
		return written{obj: in.obj}, nil
	}
	if same, err := c.unchanged(in.obj, old, value); same || err != nil {
		return written{obj: in.obj}, err
	}
	sealed, err := c.seal(key, value)
	if err != nil {
		return written{}, err
	}
	c.Pass(trace.StageStorage, "", "Write "+key+" ("+strconv.Itoa(len(sealed))+" bytes), if it is still at revision "+object.FormatRevision(old.revision)+".", nil)
	ok, rev, now, err := c.put(key, old.revision, in.obj, value, sealed)
	if err != nil {
		return written{}, c.Refuse(trace.StageStorage, "", storeError(err))
	}
	if !ok {
		return written{}, c.overtaken(old, now)
	}
	return c.written(in.obj, rev, value)
}

// unchanged ends an update that changes nothing: Kubernetes does not write
// then, and nobody hears of it (etcd3 store.go GuaranteedUpdate), unless the
// value is encrypted otherwise than it would be now.
func (c *call) unchanged(obj runtime.Object, old *stored, value []byte) (bool, error) {
	if !bytes.Equal(value, old.value) {
		return false, nil
	}
	if again, err := c.rewrites(old); again || err != nil {
		return false, err
	}
	c.Pass(trace.StageStorage, "", "The object is as it was; nothing is written.", nil)
	object.Meta(obj).SetResourceVersion(object.FormatRevision(old.revision))
	return true, nil
}

// overtaken is a transaction that found another revision.
func (c *call) overtaken(old *stored, now int64) error {
	if now == 0 {
		return c.Refuse(trace.StageStorage, "", apierrors.NewNotFound(c.kind.GroupResource(), c.Ref.Name))
	}
	c.Tell(&trace.Stage{
		Request: c.Number, Stage: trace.StageStorage, Verdict: "pass",
		Note: "The key is at revision " + object.FormatRevision(now) + ", not " + object.FormatRevision(old.revision) + ": another writer was faster. Read it and try again.",
	})
	return errStale
}

// remove is the storage stage of a deletion.
func (c *call) remove(old *stored) error {
	key := c.storeKey()
	if c.req.DryRun {
		c.Pass(trace.StageStorage, "", "Dry run: nothing is deleted.", nil)
		return nil
	}
	c.Pass(trace.StageStorage, "", "Delete "+key+", if it is still at revision "+object.FormatRevision(old.revision)+".", nil)
	ok, _, now, err := c.txn(key, old.revision, &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{
		RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte(key)},
	}})
	if err != nil {
		return c.Refuse(trace.StageStorage, "", storeError(err))
	}
	if !ok {
		return c.overtaken(old, now)
	}
	return nil
}

// put writes the object, sealed: its value encrypted. The watch cache takes what
// a component of this process wrote as it is; what comes from outside it reads
// back from the bytes, as everybody else would.
func (c *call) put(key string, rev int64, obj runtime.Object, value, sealed []byte) (ok bool, made, now int64, err error) {
	cache := c.cache()
	short := key[len(c.kind.Prefix):]
	if c.req.System {
		defer cache.Forget(short, cache.Expect(short, obj, value, sealed))
	}
	op := storage.Put(key, sealed)
	if c.kind.Is("Event") { // they go with their lease (kube-apiserver --event-ttl)
		c.Task.SetCauses(c.Last)
		id, err := c.s.eventLeases.Get(c.Task, c.s.cfg.EventTTL)
		if err != nil {
			return false, 0, 0, err
		}
		op.GetRequestPut().Lease = id
	}
	return c.txn(key, rev, op)
}

// txn runs op if the key's modification revision is rev (0: there is no such
// key). now is the key's revision if it is another, 0 if it is gone.
func (c *call) txn(key string, rev int64, op *pb.RequestOp) (ok bool, made, now int64, err error) {
	c.Task.SetCauses(c.Last)
	resp, commit, err := c.s.st.Txn(c.Task, storage.IfUnmoved([]byte(key), rev, op))
	if err != nil {
		return false, 0, 0, err
	}
	if !resp.Succeeded {
		c.Last = commit // what the store found is why the request ends or begins anew
		if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
			now = kvs[0].ModRevision
		}
		return false, 0, now, nil
	}
	if !commit.IsZero() {
		c.Commits = append(c.Commits, commit)
	}
	return true, resp.Header.Revision, 0, nil
}

// written is the object as it now is at the store.
func (c *call) written(obj runtime.Object, rev int64, value []byte) (written, error) {
	if c.kind.Converts() { // what the store holds is another version: it is converted back
		obj, err := registry.Decode(c.kind, value, rev)
		if err != nil {
			return written{}, c.Refuse(trace.StageStorage, "", encodingError(err))
		}
		return written{obj: obj}, nil
	}
	if shared := c.cache().Written(keyOf(c.kind, c.Ref.Namespace, c.Ref.Name), rev); shared != nil {
		return written{obj: shared, shared: true}, nil
	}
	object.Meta(obj).SetResourceVersion(object.FormatRevision(rev))
	return written{obj: obj}, nil
}

// answer is what was written: the caller's own copy, but for what
// components patch, and the Events they tell: at these they look at most.
func (c *call) answer(w written) *Response {
	switch {
	case w.shared && c.req.System && (c.req.Verb == "patch" || c.kind.Is("Event")):
		return &Response{Object: w.obj, shared: w.obj}
	case w.shared:
		return &Response{Object: w.obj.DeepCopyObject(), shared: w.obj}
	}
	return &Response{Object: w.obj.DeepCopyObject()} // parts of it may be the old object's
}

// storeError is a failure of the store. Its own words reach the client
// ("etcdserver: request timed out"), as with a real cluster.
func storeError(err error) error {
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

// load reads the object as it is now: from the watch cache, or, where that may
// be behind (live) or does not know it, from the store.
func (c *call) load(live bool) (*stored, error) {
	key := keyOf(c.kind, c.Ref.Namespace, c.Ref.Name)
	if !live {
		if en := c.cache().Get(key); en != nil {
			c.weight = len(en.Value)
			return &stored{obj: en.Object, revision: en.Revision, value: en.Value, cached: true}, nil
		}
	}
	en, stale, err := c.read(key, nil)
	if err != nil {
		return nil, err
	}
	if en == nil {
		return nil, apierrors.NewNotFound(c.kind.GroupResource(), c.Ref.Name)
	}
	c.weight = len(en.Value)
	return &stored{obj: en.Object, revision: en.Revision, value: en.Value, stale: stale}, nil
}

// conflict is 409 in Kubernetes' words.
func (c *call) conflict() error {
	return apierrors.NewConflict(c.kind.GroupResource(), c.Ref.Name,
		fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
}
