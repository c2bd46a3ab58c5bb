package apiserver

import (
	"errors"
	"fmt"
	"math"

	"go.etcd.io/etcd/api/v3/mvccpb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// A watch cache reads what the store tells it through the kind's transformer. One
// value that cannot be decrypted is enough to stop it: the list that fills it
// fails as a whole, or its watch ends with an error and it has to list again
// (cacher.go startCaching). Until a list succeeds the cache is lost: lists and
// watches of the kind are refused, single objects come from the store.

// start waits until the cache is filled, or is known to be lost: the server
// serves all the same.
func (c *cache) start(t *sim.Task) {
	for !c.synced && c.lost == nil {
		c.moved.Wait(t)
	}
}

// unlock gives what a list found as it was before encryption. After an error the
// cache is lost.
func (c *cache) unlock(t *sim.Task, kvs []*mvccpb.KeyValue) (out []*mvccpb.KeyValue, y tally, err error) {
	x := c.s.transformer(c.kind)
	out = make([]*mvccpb.KeyValue, len(kvs))
	for i, kv := range kvs {
		if out[i] = kv; !x.Configured() && !trace.Encrypted(kv.Value) {
			continue
		}
		plain, _, err := x.Read(t, string(kv.Key), kv.Value)
		if err != nil {
			c.lose(t, kv, err, t.Causes())
			return nil, y, err
		}
		y.add(&opened{label: encrypt.Label(kv.Value)})
		out[i] = &mvccpb.KeyValue{Key: kv.Key, Value: plain, CreateRevision: kv.CreateRevision, ModRevision: kv.ModRevision, Version: kv.Version, Lease: kv.Lease}
	}
	return out, y, nil
}

// regain notes that a list succeeded: how its values were read, and that what was
// lost is found, or has gone.
func (c *cache) regain(t *sim.Task, y tally) {
	was := c.lost
	c.lost = nil
	bad := (*unconverted)(nil)
	if n := y.total(); n > 0 || was != nil {
		t.Emit(trace.Event{Kind: trace.CacheDecrypted, Payload: &trace.Decryption{
			Resource: c.kind.GroupVersionResource.Resource, Custom: c.kind.CustomName(), By: y.by, Values: n, Conversion: n == 0 && errors.As(was, &bad),
		}})
	}
}

// lose notes that a value cannot be decrypted, once for each reason.
func (c *cache) lose(t *sim.Task, kv *mvccpb.KeyValue, err error, causes []trace.ID) {
	c.loseFor(t, kv, untransformed(kv.Key, err), &trace.Decryption{Key: string(kv.Key), By: []string{encrypt.Label(kv.Value)}, Values: 1, Error: err.Error()}, causes)
}

func (c *cache) loseFor(t *sim.Task, kv *mvccpb.KeyValue, err error, p *trace.Decryption, causes []trace.ID) {
	was := c.lost
	c.lost = fmt.Errorf("failed to list <unspecified>: %w", err)
	if was != nil && was.Error() == c.lost.Error() {
		return
	}
	c.lostAt = t.Elapsed()
	p.Resource, p.Custom = c.kind.GroupVersionResource.Resource, c.kind.CustomName()
	c.lostBy = t.Emit(trace.Event{Kind: trace.CacheDecrypted, Object: c.refOfKey(c.key(kv.Key)), Causes: causes, Payload: p})
	c.moved.Broadcast()
}

// openEvent is the object that an event of the store brings. After a value that
// cannot be decrypted the cache is lost.
func (c *cache) openEvent(t *sim.Task, commit trace.ID, kv *mvccpb.KeyValue) (*entry, error) {
	t.SetCauses(commit)
	en, how, err := c.s.open(t, c.kind, kv)
	if bad := (*untransformable)(nil); errors.As(err, &bad) {
		c.lose(t, kv, bad.err, []trace.ID{commit})
	}
	if how != nil {
		t.Emit(trace.Event{Kind: trace.CacheDecrypted, Object: refOf(c.kind, en.obj), Payload: &trace.Decryption{
			Resource: c.kind.GroupVersionResource.Resource, Custom: c.kind.CustomName(), Key: string(kv.Key), By: []string{how.label}, Values: 1,
		}})
	}
	return en, err
}

// notReady refuses a list or a watch while the cache is lost (cacher.go, util.go
// calculateRetryAfterForUnreadyCache).
func (c *call) notReady() error {
	down := c.Task.Elapsed() - c.cache().lostAt
	after := math.Min(30, math.Max(1, math.Exp(0.06*down.Seconds())))
	err := apierrors.NewTooManyRequests("storage is (re)initializing: "+c.cache().lost.Error(), int(after))
	return c.Refuse(trace.StageStorage, "watch cache", err)
}
