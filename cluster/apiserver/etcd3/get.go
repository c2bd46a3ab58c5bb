package etcd3

import (
	"errors"
	"strconv"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Current is the object as it is now: from the watch cache, or, where that may be behind
// (live) or does not know it, from the store (the beginning of GuaranteedUpdate, with the
// cached existing object).
func (s *Store) Current(r *request.Scope, at Key, live bool) (*Stored, error) {
	if !live {
		if en := s.Caches(at.Kind).Get(at.Short()); en != nil {
			r.Bulk.Hold(en.Value)
			return &Stored{Object: en.Object, Revision: en.Revision, value: en.Value, Cached: true}, nil
		}
	}
	en, stale, err := s.Newest(r, at, nil)
	if err != nil {
		return nil, err
	}
	if en == nil {
		return nil, at.notFound()
	}
	r.Bulk.Hold(en.Value)
	return &Stored{Object: en.Object, Revision: en.Revision, value: en.Value, stale: stale}, nil
}

// UpToDate looks whether the object, where it comes from the watch cache, is still
// the newest, before somebody is refused because of it; else the error is [ErrStale]. Of
// nil there is nothing to look at.
func (s *Store) UpToDate(r *request.Scope, at Key, old *Stored) error {
	if old == nil || !old.Cached {
		return nil
	}
	en, _, err := s.Newest(r, at, nil)
	switch {
	case err != nil:
		return r.Refuse(trace.StageStorage, "", err)
	case en == nil:
		return r.Refuse(trace.StageStorage, "", at.notFound())
	case en.Revision != old.Revision:
		return ErrStale
	}
	return nil
}

// Get is the object as old as the client takes it: of a resourceVersion the watch cache's,
// if it has that revision; of "" the store's (storage.Interface Get).
func (s *Store) Get(r *request.Scope, at Key, resourceVersion string) (runtime.Object, error) {
	rv, err := object.ParseRevision(resourceVersion)
	if err != nil {
		if at.Kind.Kind == "Event" { // upstream has no watch cache of them; its store's words
			err = apierrors.NewBadRequest("invalid resource version: " + err.Error())
		}
		return nil, request.PlainError(err)
	}
	var en *cacher.Entry
	if resourceVersion != "" && !s.Caches(at.Kind).IsLost() {
		cache := s.Caches(at.Kind)
		if !cache.Wait(r.Task, rv, TooNewWait) {
			return nil, r.Refuse(trace.StageStorage, "watch cache", TooLarge(rv, cache.Current()))
		}
		if en = cache.Get(at.Short()); en != nil {
			r.Pass(trace.StageStorage, "watch cache", "Read "+at.String()+" from the watch cache: the client accepts any state from revision "+object.FormatRevision(rv)+" on.", nil)
		}
	} else {
		en, _, err = s.Newest(r, at, func(en *cacher.Entry) {
			r.Pass(trace.StageStorage, "etcd", "Read "+at.String()+" from the store, at revision "+object.Meta(en.Object).GetResourceVersion()+".", nil)
		})
		if err != nil {
			return nil, r.Refuse(trace.StageStorage, "", err)
		}
	}
	if en == nil {
		return nil, r.Refuse(trace.StageStorage, "", at.notFound())
	}
	return en.Object, nil
}

// Newest is an object from the store; nil if there is none. told, if given, records the
// read before the decryption is recorded. Its error does not refuse the request yet.
func (s *Store) Newest(r *request.Scope, at Key, told func(*cacher.Entry)) (en *cacher.Entry, stale bool, err error) {
	if s.Sealed(at.Kind).Configured() {
		r.Ask()
	}
	var how *cacher.Opened
	en, how, err = s.look(r.Task, at.Kind, at.Short())
	var bad *cacher.Untransformable
	if errors.As(err, &bad) && told != nil {
		r.Pass(trace.StageStorage, "etcd", "Read "+at.String()+" from the store.", nil)
	}
	if err != nil {
		return nil, false, Error(err)
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
		r.Pass(trace.StageDecrypt, how.Label, note+".", nil)
	}
	return en, stale, nil
}

// Live is an object as the store has it, for who serves no request with it; nil where there
// is none. key is without the kind's prefix.
func (s *Store) Live(t *sim.Task, k *registry.Kind, key string) (runtime.Object, error) {
	en, _, err := s.look(t, k, key)
	if err != nil {
		return nil, Error(err)
	}
	if en == nil {
		return nil, nil
	}
	return en.Object, nil
}

// look reads one object; nil if there is none. how says how the value was encrypted; nil
// where its kind has no encryption.
func (s *Store) look(t *sim.Task, k *registry.Kind, key string) (en *cacher.Entry, how *cacher.Opened, err error) {
	resp, err := s.Conn.Range(t, &pb.RangeRequest{Key: []byte(k.Prefix + key)})
	if err != nil || len(resp.Kvs) == 0 {
		return nil, nil, err
	}
	kv := resp.Kvs[0]
	if en := s.Caches(k).Get(key); en != nil && en.Revision == kv.ModRevision && !s.Sealed(k).Configured() && !k.Converts() {
		return en, nil, nil
	}
	return cacher.Open(t, s.Sealed(k), k, kv)
}

// TooNewWait is how long a read waits for a revision that is not there yet
// (cacher blockTimeout).
const TooNewWait = 3 * time.Second

// TooLarge is what a revision that is not there yet gives.
func TooLarge(want, have int64) error {
	err := apierrors.NewTimeoutError("Too large resource version: "+object.FormatRevision(want)+", current: "+object.FormatRevision(have), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}
