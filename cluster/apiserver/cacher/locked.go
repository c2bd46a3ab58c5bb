package cacher

import (
	"errors"
	"fmt"
	"math"
	"time"

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

// AwaitFilled waits until the cache is filled, or is known to be lost: the server
// serves all the same.
func (c *Cache) AwaitFilled(t *sim.Task) {
	for !c.synced && c.lost == nil {
		c.moved.Wait(t)
	}
}

// unlock gives what a list found as it was before encryption. After an error the
// cache is lost.
func (c *Cache) unlock(t *sim.Task, kvs []*mvccpb.KeyValue) (out []*mvccpb.KeyValue, y Tally, err error) {
	x := c.cfg.Transformer(c.Kind)
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
		y.Add(&Opened{Label: encrypt.Label(kv.Value)})
		out[i] = &mvccpb.KeyValue{Key: kv.Key, Value: plain, CreateRevision: kv.CreateRevision, ModRevision: kv.ModRevision, Version: kv.Version, Lease: kv.Lease}
	}
	return out, y, nil
}

// regain notes that a list succeeded: how its values were read, and that what was
// lost is found, or has gone.
func (c *Cache) regain(t *sim.Task, y Tally) {
	was := c.lost
	c.lost = nil
	bad := conversionError(nil)
	if n := y.total(); n > 0 || was != nil {
		t.Emit(trace.Event{Kind: trace.CacheDecrypted, Payload: &trace.Decryption{
			Resource: c.Kind.GroupVersionResource.Resource, Custom: c.Kind.CustomName(), By: y.By, Values: n, Conversion: n == 0 && errors.As(was, &bad),
		}})
	}
}

// lose notes that a value cannot be decrypted, once for each reason.
func (c *Cache) lose(t *sim.Task, kv *mvccpb.KeyValue, err error, causes []trace.ID) {
	c.loseFor(t, kv, Untransformed(kv.Key, err), &trace.Decryption{Key: string(kv.Key), By: []string{encrypt.Label(kv.Value)}, Values: 1, Error: err.Error()}, causes)
}

func (c *Cache) loseFor(t *sim.Task, kv *mvccpb.KeyValue, err error, p *trace.Decryption, causes []trace.ID) {
	was := c.lost
	c.lost = fmt.Errorf("failed to list <unspecified>: %w", err)
	if was != nil && was.Error() == c.lost.Error() {
		return
	}
	c.lostAt = t.Elapsed()
	p.Resource, p.Custom = c.Kind.GroupVersionResource.Resource, c.Kind.CustomName()
	c.lostBy = t.Emit(trace.Event{Kind: trace.CacheDecrypted, Object: c.refOfKey(c.key(kv.Key)), Causes: causes, Payload: p})
	c.moved.Broadcast()
}

// openEvent is the object that an event of the store brings. After a value that
// cannot be decrypted the cache is lost.
func (c *Cache) openEvent(t *sim.Task, commit trace.ID, kv *mvccpb.KeyValue) (*Entry, error) {
	t.SetCauses(commit)
	en, how, err := Open(t, c.cfg.Transformer(c.Kind), c.Kind, kv)
	if bad := (*Untransformable)(nil); errors.As(err, &bad) {
		c.lose(t, kv, bad.Err, []trace.ID{commit})
	}
	if how != nil {
		t.Emit(trace.Event{Kind: trace.CacheDecrypted, Object: refOf(c.Kind, en.Object), Payload: &trace.Decryption{
			Resource: c.Kind.GroupVersionResource.Resource, Custom: c.Kind.CustomName(), Key: string(kv.Key), By: []string{how.Label}, Values: 1,
		}})
	}
	return en, err
}

// Unready is why lists and watches of the kind are refused while the cache is lost, and
// after how long a client should ask again (cacher.go, util.go
// calculateRetryAfterForUnreadyCache); nil while it is not.
func (c *Cache) Unready(now time.Duration) error {
	if c.lost == nil {
		return nil
	}
	down := now - c.lostAt
	after := math.Min(30, math.Max(1, math.Exp(0.06*down.Seconds())))
	return apierrors.NewTooManyRequests("storage is (re)initializing: "+c.lost.Error(), int(after))
}

// IsLost reports whether what the cache has is not what the store has, because of a value
// that cannot be read.
func (c *Cache) IsLost() bool { return c.lost != nil }
