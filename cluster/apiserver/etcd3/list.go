package etcd3

import (
	"errors"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// Range is what is listed: all objects of a kind, those of a namespace, or one by its name.
type Range struct {
	Kind            *registry.Kind
	Namespace, Name string // "" for all
}

// List is what was found.
type List struct {
	Items []runtime.Object // shared: never changed
	Meta  metav1.ListMeta
}

// GetList is the objects that the client asks for. Where it accepts any state
// (resourceVersion=0) they are the watch cache's at once; otherwise the store is
// asked for its newest revision and the cache answers when it has it
// (ConsistentListFromCache). Pages after the first come from the store, at the
// revision of the first (storage.Interface GetList).
func (s *Store) GetList(r *request.Scope, of Range, opts metav1.ListOptions) (List, error) {
	want, err := Selecting(r, of, &opts)
	if err != nil {
		return List{}, r.Refuse(trace.StageDecode, "", err)
	}
	if opts.ResourceVersion == "0" {
		opts.Limit = 0 // who takes any state gets it whole (cacher.go GetList)
	}
	prefix := of.Kind.Prefix
	if opts.Continue != "" {
		return s.nextPage(r, of, want, opts)
	}
	if opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact || // or as it was said before there was a match
		opts.ResourceVersionMatch == "" && opts.Limit > 0 && opts.ResourceVersion != "" && opts.ResourceVersion != "0" {
		return s.listAt(r, of, want, opts)
	}
	cache := s.Caches(of.Kind)
	if cache.IsLost() {
		if opts.Limit > 0 && want.Everything() {
			return s.page(r, of, want, opts, s.Conn.Revision(), prefix)
		}
		return List{}, r.Refuse(trace.StageStorage, "watch cache", cache.Unready(r.Task.Elapsed()))
	}
	how, err := s.Freshen(r, of.Kind, opts.ResourceVersion)
	if storage.IsTooLargeResourceVersion(err) && opts.ResourceVersion == "" {
		// The cache lags; what the client wants is at the store (cacher/delegator.go
		// GetList, the fallback of a consistent read).
		return s.page(r, of, want, opts, s.Conn.Revision(), prefix)
	}
	if err != nil {
		return List{}, r.Refuse(trace.StageStorage, "watch cache", err)
	}
	rev := cache.Current()
	items, more := chosen(r, cache, want, opts.Limit)
	if more {
		return s.page(r, of, want, opts, rev, prefix)
	}
	r.Pass(trace.StageStorage, "watch cache", registry.Count(len(items), of.Kind)+" at revision "+object.FormatRevision(rev)+", from the watch cache: "+how, nil)
	return List{items, metav1.ListMeta{ResourceVersion: object.FormatRevision(rev)}}, nil
}

// Selecting is the selector of a request's options. A long one is read beside the kernel.
func Selecting(r *request.Scope, of Range, opts *metav1.ListOptions) (*cacher.Selector, error) {
	type read struct {
		want *cacher.Selector
		err  error
	}
	out := request.OffloadOf(r, selectorByte*(len(opts.LabelSelector)+len(opts.FieldSelector)), "the selector", func(opts metav1.ListOptions) (out read) {
		out.want, out.err = cacher.NewSelector(of.Kind, of.Namespace, of.Name, &opts)
		return out
	}, *opts)
	return out.want, out.err
}

// selectorByte is how many bytes of other things a byte of a selector is worth: each
// requirement is parsed and judged by itself.
const selectorByte = 16

// lookBytes is how many bytes of other things asking one requirement is worth.
const lookBytes = 5

// choice is how objects are chosen: the first that are wanted, up to a limit.
type choice struct {
	want  *cacher.Selector
	limit int64
	from  []*cacher.Entry
	items []runtime.Object
	more  bool // there are others
}

// take looks at one object, and reports whether to go on.
func (ch *choice) take(obj runtime.Object) bool {
	if !ch.want.Matches(obj) {
		return true
	}
	if ch.more = ch.limit > 0 && int64(len(ch.items)) == ch.limit; !ch.more {
		ch.items = append(ch.items, obj)
	}
	return !ch.more
}

func takeAll(ch choice) choice {
	for _, en := range ch.from {
		if !ch.take(en.Whole()) {
			break
		}
	}
	return ch
}

// chosen are the cache's objects that are wanted, at most limit; more says that there
// are others. The choice is the request's alone, so a long one is made beside the kernel.
func chosen(r *request.Scope, all *cacher.Cache, want *cacher.Selector, limit int64) (items []runtime.Object, more bool) {
	most := limit
	if most > 0 {
		most++
	}
	from, looks := all.Present(want, most)
	ch := choice{want: want, limit: limit, from: from}
	if looks > cacher.LongChoice && !r.Bulk.Inline {
		cacher.Keep(ch.from)
		ch = request.OffloadOf(r, lookBytes*looks, "the choice", takeAll, ch)
	} else {
		ch = takeAll(ch)
	}
	return ch.items, ch.more
}

// Freshen waits until the cache of a kind is as fresh as the client asks for, and says how
// fresh that is.
func (s *Store) Freshen(r *request.Scope, k *registry.Kind, resourceVersion string) (how string, err error) {
	rv, err := object.ParseRevision(resourceVersion)
	if err != nil {
		return "", apierrors.NewBadRequest("invalid resource version: " + err.Error())
	}
	switch resourceVersion {
	case "0":
		if !s.Caches(k).Wait(r.Task, 0, TooNewWait) {
			return "", apierrors.NewTooManyRequests("storage is (re)initializing", 1)
		}
		return "the client accepts any state.", nil
	case "":
		resp, err := s.Conn.Range(r.Task, &pb.RangeRequest{Key: []byte(k.Prefix), Limit: 1, KeysOnly: true})
		if err != nil {
			return "", Error(err)
		}
		rv = resp.Header.Revision
		how = "the store was asked for its newest revision, and the cache has it."
	default:
		how = "the client accepts any state from revision " + resourceVersion + " on."
	}
	if !s.Caches(k).Wait(r.Task, rv, TooNewWait) {
		return "", TooLarge(rv, s.Caches(k).Current())
	}
	return how, nil
}

// nextPage continues where a token says (apiserver pkg/storage/continue.go).
func (s *Store) nextPage(r *request.Scope, of Range, want *cacher.Selector, opts metav1.ListOptions) (List, error) {
	if opts.ResourceVersion != "" && opts.ResourceVersion != "0" {
		return List{}, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	from, rev, err := storage.DecodeContinue(opts.Continue, of.Kind.Prefix)
	if err != nil {
		return List{}, apierrors.NewBadRequest("invalid continue token: " + err.Error())
	}
	return s.page(r, of, want, opts, max(rev, 0), from)
}

// listAt lists exactly as of a revision.
func (s *Store) listAt(r *request.Scope, of Range, want *cacher.Selector, opts metav1.ListOptions) (List, error) {
	rv, err := object.ParseRevision(opts.ResourceVersion)
	if err != nil || rv == 0 {
		return List{}, apierrors.NewBadRequest("resourceVersionMatch=Exact needs a resourceVersion other than 0")
	}
	return s.page(r, of, want, opts, rv, of.Kind.Prefix)
}

// page reads up to opts.Limit objects from the store at a revision (0: the newest), from a
// key on.
func (s *Store) page(r *request.Scope, of Range, want *cacher.Selector, opts metav1.ListOptions, rev int64, from string) (List, error) {
	root := of.Kind.Prefix
	if of.Kind.Namespaced && of.Namespace != "" {
		root += of.Namespace + "/"
	}
	from = max(from, root)
	end := cacher.PrefixEnd(root)
	var items []runtime.Object
	var read cacher.Tally // how they were encrypted
	for {
		resp, err := s.Conn.Range(r.Task, &pb.RangeRequest{Key: []byte(from), RangeEnd: end, Limit: opts.Limit, Revision: rev})
		if err != nil {
			return List{}, r.Refuse(trace.StageStorage, "etcd", s.pageError(err, of.Kind, opts, from))
		}
		if rev == 0 {
			rev = resp.Header.Revision
		}
		found := s.decoded(r, of.Kind, resp.Kvs, want)
		for i, kv := range resp.Kvs {
			one := decoded{}
			if found != nil {
				one = found[i]
			} else if en, how, err := s.open(r, of.Kind, kv); err == nil {
				read.Add(how)
				one = decoded{en.Object, want.Matches(en.Object), nil}
			} else {
				one.err = err
			}
			if one.err != nil {
				return List{}, r.Refuse(trace.StageStorage, "etcd", one.err)
			}
			if one.wanted {
				items = append(items, one.obj)
			}
			if opts.Limit > 0 && int64(len(items)) == opts.Limit && (resp.More || i+1 < len(resp.Kvs)) {
				return pageOf(r, of.Kind, items, rev, string(kv.Key)+"\x00", resp.Count-int64(i)-1, want, &read)
			}
		}
		if !resp.More {
			return pageOf(r, of.Kind, items, rev, "", 0, want, &read)
		}
		from = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
	}
}

// decoded is one object of a page.
type decoded struct {
	obj    runtime.Object
	wanted bool
	err    error
}

// longPage is of how many bytes on a page is decoded, and its objects chosen, beside the kernel.
const longPage = 256 << 10

// decoded are the objects of a long page; nil of a short one, and where reading the values asks
// somebody: a KMS, or a webhook that converts.
func (s *Store) decoded(r *request.Scope, k *registry.Kind, kvs []*mvccpb.KeyValue, want *cacher.Selector) []decoded {
	bulk := 0
	for _, kv := range kvs {
		if bulk += len(kv.Value); trace.Encrypted(kv.Value) {
			return nil
		}
	}
	if bulk += lookBytes * len(kvs) * want.Most(); bulk < longPage || r.Bulk.Inline || s.Sealed(k).Configured() || k.MayConvert() {
		return nil
	}
	return request.OffloadOf(r, bulk, "the page", func(kvs []*mvccpb.KeyValue) []decoded {
		out := make([]decoded, len(kvs))
		for i, kv := range kvs {
			if en, err := cacher.Decode(k, kv); err != nil {
				out[i].err = encodingError(err)
			} else {
				out[i].obj, out[i].wanted = en.Object, want.Matches(en.Object)
			}
		}
		return out
	}, kvs)
}

func pageOf(r *request.Scope, k *registry.Kind, items []runtime.Object, rev int64, next string, left int64, want *cacher.Selector, read *cacher.Tally) (List, error) {
	meta := metav1.ListMeta{ResourceVersion: object.FormatRevision(rev)}
	note := registry.Count(len(items), k) + " as of revision " + meta.ResourceVersion + ", from the store"
	if next != "" {
		var err error
		if meta.Continue, err = storage.EncodeContinue(next, k.Prefix, rev); err != nil {
			return List{}, apierrors.NewInternalError(err)
		}
		if want.Everything() {
			meta.RemainingItemCount = &left
		}
		note += "; there are more, the client gets a token to continue"
	}
	r.Pass(trace.StageStorage, "etcd", note+".", nil)
	tellTally(r, read)
	return List{items, meta}, nil
}

// pageError is a failed read of an old revision (apiserver
// pkg/storage/etcd3/errors.go).
func (s *Store) pageError(err error, k *registry.Kind, opts metav1.ListOptions, from string) error {
	if !errors.Is(err, rpctypes.ErrCompacted) {
		if errors.Is(err, rpctypes.ErrFutureRev) {
			rv, _ := object.ParseRevision(opts.ResourceVersion)
			return TooLarge(rv, s.Conn.Revision())
		}
		return Error(err)
	}
	if opts.Continue != "" {
		expired := apierrors.NewResourceExpired(inconsistentContinue)
		if expired.ErrStatus.ListMeta.Continue, err = storage.EncodeContinue(from, k.Prefix, newestState); err != nil {
			return apierrors.NewInternalError(err)
		}
		return expired
	}
	return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
}

const (
	// newestState, in a token, continues with the current state.
	newestState = -1
	// inconsistentContinue is etcd3/errors.go's.
	inconsistentContinue = "The provided continue parameter is too old to display a consistent list result. You can start a new list without " +
		"the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided " +
		"token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned " +
		"and now may show up in the list."
)
