package apiserver

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
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// What encryption at rest does to the values of one request.

// transformer is how a kind's values are encrypted.
func (s *Server) transformer(k *registry.Kind) *encrypt.Transformer {
	return s.encryption.Transformer(k.GroupResource())
}

// seal encrypts what is to be written: a part of the storage stage that only
// kinds with encryption have.
func (c *call) seal(key string, value []byte) ([]byte, error) {
	x := c.s.transformer(c.kind)
	if !x.Configured() {
		return value, nil
	}
	c.Task.SetCauses(c.Last)
	sealed, err := x.Write(c.Task, key, value)
	if err != nil {
		return nil, c.Refuse(trace.StageEncrypt, "", apierrors.NewInternalError(err))
	}
	label := encrypt.Label(sealed)
	if !trace.Encrypted(sealed) {
		c.Pass(trace.StageEncrypt, label, "Left the value as it is: the first provider is identity.", nil)
		return sealed, nil
	}
	c.Pass(trace.StageEncrypt, label, "Encrypted "+strconv.Itoa(len(value))+" bytes to "+strconv.Itoa(len(sealed))+".", nil)
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

// read is an object of the call's kind from the store; nil if there is none.
// told, if given, tells of the reading before the decryption is told.
func (c *call) read(key string, told func(*cacher.Entry)) (en *cacher.Entry, stale bool, err error) {
	if c.s.transformer(c.kind).Configured() {
		c.Task.SetCauses(c.Last)
	}
	var how *cacher.Opened
	en, how, err = c.s.look(c.Task, c.kind, key)
	var bad *cacher.Untransformable
	if errors.As(err, &bad) && told != nil {
		c.Pass(trace.StageStorage, "etcd", "Read "+c.kind.Prefix+key+" from the store.", nil)
	}
	if err != nil {
		return nil, false, storeError(err)
	}
	if en != nil && told != nil {
		told(en)
	}
	stale = how != nil && how.Stale
	if how != nil {
		note := "Decrypted " + strconv.Itoa(how.Stored) + " bytes to " + strconv.Itoa(how.Plain)
		if how.Label == "identity" {
			note = "The value is not encrypted"
		}
		if how.Stale {
			note += "; what is written now would be encrypted otherwise"
		}
		c.Pass(trace.StageDecrypt, how.Label, note+".", nil)
	}
	return en, stale, nil
}

// openItem is an object of a list that comes from the store.
func (c *call) openItem(kv *mvccpb.KeyValue) (*cacher.Entry, *cacher.Opened, error) {
	if c.s.transformer(c.kind).Configured() {
		c.Task.SetCauses(c.Last)
	}
	en, how, err := c.s.open(c.Task, c.kind, kv)
	if bad := (*cacher.Untransformable)(nil); errors.As(err, &bad) {
		return nil, nil, undecryptable(bad, cacher.Untransformed(kv.Key, bad.Err))
	}
	if err != nil {
		return nil, nil, encodingError(err)
	}
	return en, how, nil
}

// tellTally tells how the values of a list were read.
func (c *call) tellTally(y *cacher.Tally) {
	if len(y.By) == 0 {
		return
	}
	var parts []string
	for _, l := range y.By {
		parts = append(parts, plural(y.N[l], "value", "values")+" of "+l)
	}
	c.Pass(trace.StageDecrypt, strings.Join(y.By, ", "), "Read "+strings.Join(parts, ", ")+".", nil)
}

// rewrites reports whether an update that changes nothing has to be written all
// the same, because the value is encrypted otherwise than it would be now. Only
// the store knows that: the cache has no bytes (etcd3 store.go GuaranteedUpdate,
// origStateIsCurrent).
func (c *call) rewrites(old *stored) (bool, error) {
	if !c.s.transformer(c.kind).Configured() {
		return false, nil
	}
	stale := old.stale
	if old.cached {
		en, now, err := c.read(keyOf(c.kind, c.Ref.Namespace, c.Ref.Name), nil)
		stale = now
		switch {
		case err != nil:
			return false, c.Refuse(trace.StageStorage, "", err)
		case en == nil:
			return false, c.overtaken(old, 0)
		case en.Revision != old.revision:
			return false, c.overtaken(old, en.Revision)
		}
	}
	return stale, nil
}

// open is the object at a key.
func (s *Server) open(t *sim.Task, k *registry.Kind, kv *mvccpb.KeyValue) (*cacher.Entry, *cacher.Opened, error) {
	return cacher.Open(t, s.transformer(k), k, kv)
}
