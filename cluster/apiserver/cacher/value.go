package cacher

import (
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Untransformable is a value that could not be decrypted.
type Untransformable struct {
	Err   error
	Label string
}

func (e *Untransformable) Error() string { return e.Err.Error() }

func (e *Untransformable) Unwrap() error { return e.Err }

// Opened is how a value of a kind with encryption was read.
type Opened struct {
	Label         string // who had encrypted it
	Stored, Plain int    // bytes
	Stale         bool   // it would be encrypted otherwise now
}

// Open is the object at a key, decrypted and decoded. how is nil for kinds
// without encryption. Only with a task can a KMS plugin be asked.
func Open(t *sim.Task, x *encrypt.Transformer, k *registry.Kind, kv *mvccpb.KeyValue) (en *Entry, how *Opened, err error) {
	if !x.Configured() && !trace.Encrypted(kv.Value) {
		en, err = Decode(k, kv)
		return en, nil, err
	}
	label := encrypt.Label(kv.Value)
	plain, stale, err := x.Read(t, string(kv.Key), kv.Value)
	if err != nil {
		return nil, nil, &Untransformable{err, label}
	}
	obj, err := registry.Decode(k, plain, kv.ModRevision)
	if err != nil {
		return nil, nil, err
	}
	return &Entry{Object: obj, Value: plain, Revision: kv.ModRevision}, &Opened{label, len(kv.Value), len(plain), stale}, nil
}

// Tally counts values by who had encrypted them.
type Tally struct {
	By []string
	N  map[string]int
}

func (y *Tally) Add(how *Opened) {
	if how == nil {
		return
	}
	if y.N == nil {
		y.N = map[string]int{}
	}
	if y.N[how.Label] == 0 {
		y.By = append(y.By, how.Label)
	}
	y.N[how.Label]++
}

func (y *Tally) total() (n int) {
	for _, l := range y.By {
		n += y.N[l]
	}
	return n
}

// Untransformed is what a list fails with (etcd3 store.go processListItem).
func Untransformed(key []byte, err error) error {
	return fmt.Errorf("unable to transform key %q: %w", key, err)
}

// Entry is one object in the cache.
type Entry struct {
	Object   runtime.Object // shared: never changed
	Value    []byte         // what the store holds, decrypted
	Revision int64

	// as, if it is set, is the kind as which Object is still to be decoded.
	as *registry.Kind
	// by is the change that brought it, while the window holds that and nothing newer has come.
	by *change
}

// Decode is the object at a key, with what it was decoded from.
func Decode(k *registry.Kind, kv *mvccpb.KeyValue) (*Entry, error) {
	obj, err := registry.Decode(k, kv.Value, kv.ModRevision)
	if err != nil {
		return nil, err
	}
	return &Entry{Object: obj, Value: kv.Value, Revision: kv.ModRevision}, nil
}
