package apiserver

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// What encryption at rest does to the values of one request.

// transformer is how a kind's values are encrypted.
func (s *Server) transformer(k *registry.Kind) *encrypt.Transformer {
	x := s.enc.by[k]
	if x == nil {
		x = s.enc.set.For(k.GroupResource())
		s.enc.by[k] = x
	}
	return x
}

// untransformable is a value that could not be decrypted.
type untransformable struct {
	err   error
	label string
}

func (e *untransformable) Error() string { return e.err.Error() }
func (e *untransformable) Unwrap() error { return e.err }

// opened is how a value of a kind with encryption was read.
type opened struct {
	label         string // who had encrypted it
	stored, plain int    // bytes
	stale         bool   // it would be encrypted otherwise now
}

// open is the object at a key, decrypted and decoded. how is nil for kinds
// without encryption. Only with a task can a KMS plugin be asked.
func (s *Server) open(t *sim.Task, k *registry.Kind, kv *mvccpb.KeyValue) (en *entry, how *opened, err error) {
	x := s.transformer(k)
	if !x.Configured() && !trace.Encrypted(kv.Value) {
		en, err = decodeKV(k, kv)
		return en, nil, err
	}
	label := encrypt.Label(kv.Value)
	plain, stale, err := x.Read(t, string(kv.Key), kv.Value)
	if err != nil {
		return nil, nil, &untransformable{err, label}
	}
	obj, err := registry.Decode(k, plain, kv.ModRevision)
	if err != nil {
		return nil, nil, err
	}
	return &entry{obj: obj, value: plain, revision: kv.ModRevision}, &opened{label, len(kv.Value), len(plain), stale}, nil
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

func undecryptable(bad *untransformable, err error) error {
	return &undecrypted{apierrors.NewInternalError(err), bad.label}
}

// read is an object of the call's kind from the store; nil if there is none.
// told, if given, tells of the reading before the decryption is told.
func (c *call) read(key string, told func(*entry)) (*entry, error) {
	if c.s.transformer(c.kind).Configured() {
		c.Task.SetCauses(c.Last)
	}
	en, how, err := c.s.look(c.Task, c.kind, key)
	var bad *untransformable
	if errors.As(err, &bad) && told != nil {
		c.Pass(trace.StageStorage, "etcd", "Read "+c.kind.Prefix+key+" from the store.", nil)
	}
	if err != nil {
		return nil, c.storeError(err)
	}
	if en != nil && told != nil {
		told(en)
	}
	c.stale = how != nil && how.stale
	if how != nil {
		note := "Decrypted " + strconv.Itoa(how.stored) + " bytes to " + strconv.Itoa(how.plain)
		if how.label == "identity" {
			note = "The value is not encrypted"
		}
		if how.stale {
			note += "; what is written now would be encrypted otherwise"
		}
		c.Pass(trace.StageDecrypt, how.label, note+".", nil)
	}
	return en, nil
}

// tally counts values by who had encrypted them.
type tally struct {
	by []string
	n  map[string]int
}

func (y *tally) add(how *opened) {
	if how == nil {
		return
	}
	if y.n == nil {
		y.n = map[string]int{}
	}
	if y.n[how.label] == 0 {
		y.by = append(y.by, how.label)
	}
	y.n[how.label]++
}

func (y *tally) total() (n int) {
	for _, l := range y.by {
		n += y.n[l]
	}
	return n
}

// openItem is an object of a list that comes from the store.
func (c *call) openItem(kv *mvccpb.KeyValue) (*entry, error) {
	if c.s.transformer(c.kind).Configured() {
		c.Task.SetCauses(c.Last)
	}
	en, how, err := c.s.open(c.Task, c.kind, kv)
	if bad := (*untransformable)(nil); errors.As(err, &bad) {
		return nil, undecryptable(bad, untransformed(kv.Key, bad.err))
	}
	if err != nil {
		return nil, encodingError(err)
	}
	c.listed.add(how)
	return en, nil
}

// untransformed is what a list fails with (etcd3 store.go processListItem).
func untransformed(key []byte, err error) error {
	return fmt.Errorf("unable to transform key %q: %w", key, err)
}

// tellTally tells how the values of a list were read.
func (c *call) tellTally() {
	y := &c.listed
	if len(y.by) == 0 {
		return
	}
	var parts []string
	for _, l := range y.by {
		parts = append(parts, plural(y.n[l], "value", "values")+" of "+l)
	}
	c.Pass(trace.StageDecrypt, strings.Join(y.by, ", "), "Read "+strings.Join(parts, ", ")+".", nil)
}

// rewrites reports whether an update that changes nothing has to be written all
// the same, because the value is encrypted otherwise than it would be now. Only
// the store knows that: the cache has no bytes (etcd3 store.go GuaranteedUpdate,
// origStateIsCurrent).
func (c *call) rewrites() (bool, error) {
	if !c.s.transformer(c.kind).Configured() {
		return false, nil
	}
	if c.cached {
		en, err := c.read(keyOf(c.kind, c.Ref.Namespace, c.Ref.Name), nil)
		switch {
		case err != nil:
			return false, c.Refuse(trace.StageStorage, "", err)
		case en == nil:
			return false, c.overtaken(0)
		case en.revision != c.oldRev:
			return false, c.overtaken(en.revision)
		}
	}
	return c.stale, nil
}
