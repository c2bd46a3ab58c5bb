package expect

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/informer"
)

// Written remembers up to which revision a controller has written objects for a key, kind
// by kind. A controller that counts nothing (see [Expectations]) waits with it for its
// cache: as long as the cache is older than what was written, a sync would act on what is
// no longer so, and delete a pod twice.
//
// Mirrors pkg/controller/util/consistency, which goes through its kinds in the order of a map.
type Written struct {
	kinds []*informer.Informer
	byKey map[string][]int64 // a revision for each of kinds
}

// NewWritten makes an empty memory of what is written to the kinds of the informers.
func NewWritten(kinds ...*informer.Informer) *Written {
	return &Written{kinds: kinds, byKey: map[string][]int64{}}
}

// At notes that obj was written, as the API server gave it back.
func (w *Written) At(key string, of *informer.Informer, obj runtime.Object) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	at, err := strconv.ParseInt(m.GetResourceVersion(), 10, 64)
	if err != nil {
		return
	}
	for i, kind := range w.kinds {
		if kind == of {
			if w.byKey[key] == nil {
				w.byKey[key] = make([]int64, len(w.kinds))
			}
			w.byKey[key][i] = max(w.byKey[key][i], at)
		}
	}
}

// Seen is nil once the caches show what was written for the key; until then it tells what
// they do not show yet.
func (w *Written) Seen(key string) error {
	for i, at := range w.byKey[key] {
		if read := w.kinds[i].Revision(); at > read {
			return fmt.Errorf("read version: %d is not as new as written version: %d for group resource %s", read, at, w.kinds[i].Resource().GroupResource())
		}
	}
	delete(w.byKey, key)
	return nil
}

// Forget drops what is noted for a key.
func (w *Written) Forget(key string) { delete(w.byKey, key) }
