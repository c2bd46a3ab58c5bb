package etcd3

import (
	"errors"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// What encryption at rest does to values.

// seal encrypts what is to be written: a part of the storage stage that only
// kinds with encryption have.
func (s *Store) seal(r *request.Scope, k *registry.Kind, key string, value []byte) ([]byte, error) {
	x := s.Sealed(k)
	if !x.Configured() {
		return value, nil
	}
	sealed, err := x.Write(r.Ask(), key, value)
	if err != nil {
		return nil, r.Refuse(trace.StageEncrypt, "", apierrors.NewInternalError(err))
	}
	label := encrypt.Label(sealed)
	if !trace.Encrypted(sealed) {
		r.Pass(trace.StageEncrypt, label, "Left the value as it is: the first provider is identity.", nil)
		return sealed, nil
	}
	r.Pass(trace.StageEncrypt, label, "Encrypted "+strconv.Itoa(len(value))+" bytes to "+strconv.Itoa(len(sealed))+".", nil)
	return sealed, nil
}

// undecrypted is the answer to a request that needs a value which could not be
// decrypted.
type undecrypted struct {
	*apierrors.StatusError
	label string
}

// Refusal says that it is the decryption that ends the request.
func (e *undecrypted) Refusal() request.Refusal {
	return request.Refusal{Stage: trace.StageDecrypt, By: e.label}
}

func undecryptable(bad *cacher.Untransformable, err error) error {
	return &undecrypted{apierrors.NewInternalError(err), bad.Label}
}

// open is an object of a list that comes from the store.
func (s *Store) open(r *request.Scope, k *registry.Kind, kv *mvccpb.KeyValue) (*cacher.Entry, *cacher.Opened, error) {
	if s.Sealed(k).Configured() {
		r.Ask()
	}
	en, how, err := cacher.Open(r.Task, s.Sealed(k), k, kv)
	if bad := (*cacher.Untransformable)(nil); errors.As(err, &bad) {
		return nil, nil, undecryptable(bad, cacher.Untransformed(kv.Key, bad.Err))
	}
	if err != nil {
		return nil, nil, encodingError(err)
	}
	return en, how, nil
}

// tellTally tells how the values of a list were read.
func tellTally(r *request.Scope, y *cacher.Tally) {
	if len(y.By) == 0 {
		return
	}
	var parts []string
	for _, l := range y.By {
		parts = append(parts, request.Count(y.N[l], "value", "values")+" of "+l)
	}
	r.Pass(trace.StageDecrypt, strings.Join(y.By, ", "), "Read "+strings.Join(parts, ", ")+".", nil)
}

// rewrites reports whether an update that changes nothing has to be written all
// the same, because the value is encrypted otherwise than it would be now. Only
// the store knows that: the cache has no bytes (etcd3 store.go GuaranteedUpdate,
// origStateIsCurrent).
func (s *Store) rewrites(r *request.Scope, at Key, old *Stored) (bool, error) {
	if !s.Sealed(at.Kind).Configured() {
		return false, nil
	}
	if !old.Cached {
		return old.stale, nil
	}
	en, stale, err := s.Newest(r, at, nil)
	switch {
	case err != nil:
		return false, r.Refuse(trace.StageStorage, "", err)
	case en == nil:
		return false, at.overtaken(r, old, 0)
	case en.Revision != old.Revision:
		return false, at.overtaken(r, old, en.Revision)
	}
	return stale, nil
}
