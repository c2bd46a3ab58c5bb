package cacher

import (
	"errors"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"kviz/cluster/sim"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
)

// The watch cache of a custom kind whose objects a webhook converts asks it for each
// value in another version. That takes time, so it happens before a revision is taken
// in; and it can fail, and the cache is lost then as by a value that cannot be
// decrypted.

// conversionError is the error of a value that could not be converted.
type conversionError interface {
	error
	// Unconverted names the webhook, and its answer if there was one.
	Unconverted() (by string, answered trace.ID)
}

// convert prepares the objects of a revision. It reports false if the cache is lost.
func (c *Cache) convert(t *sim.Task, b storage.Batch) bool {
	if !c.Kind.MayConvert() {
		return true
	}
	c.busy = true
	defer func() { c.busy = false }()
	for _, e := range b.Events {
		key := c.key(e.Kv.Key)
		if en := c.decoded[key]; e.Type == mvccpb.DELETE || en != nil && en.Revision == b.Revision {
			continue
		}
		en, err := c.openEvent(t, b.Commit, e.Kv)
		if c.loseConversion(t, e.Kv, err, b.Commit) || c.lost != nil {
			return false
		}
		if err == nil {
			c.decoded[key] = en
		}
	}
	return true
}

// decodeAll decodes what a list found. What cannot be decoded is left out; what cannot
// be converted is an error, and the cache is lost.
func (c *Cache) decodeAll(t *sim.Task, kvs []*mvccpb.KeyValue) ([]*Entry, error) {
	out := make([]*Entry, 0, len(kvs))
	for _, kv := range kvs {
		en, err := Decode(c.Kind, kv)
		if c.loseConversion(t, kv, err, t.Causes()...) {
			return nil, err
		}
		if err != nil {
			c.undecodable(t, kv, err)
		}
		out = append(out, en) // nil: written past the API server; listing such a key fails in Kubernetes too
	}
	return out, nil
}

// undecodable names what is no object. A list of the kind fails at it in Kubernetes.
func (c *Cache) undecodable(t *sim.Task, kv *mvccpb.KeyValue, err error) {
	t.Emit(trace.Event{Kind: trace.ObjectUndecodable, Object: c.refOfKey(c.key(kv.Key)), Payload: &trace.Undecodable{
		Resource: c.Kind.GroupVersionResource.Resource, Custom: c.Kind.CustomName(), Key: string(kv.Key), Revision: kv.ModRevision, Error: err.Error(),
	}})
}

// loseConversion notes that a value could not be converted, once for each reason.
func (c *Cache) loseConversion(t *sim.Task, kv *mvccpb.KeyValue, err error, causes ...trace.ID) bool {
	var bad conversionError
	if !errors.As(err, &bad) {
		return false
	}
	by, answered := bad.Unconverted()
	if !answered.IsZero() {
		causes = append(causes[:len(causes):len(causes)], answered)
	}
	c.loseFor(t, kv, bad, &trace.Decryption{Key: string(kv.Key), By: []string{by}, Values: 1, Error: bad.Error(), Conversion: true}, causes)
	return true
}
