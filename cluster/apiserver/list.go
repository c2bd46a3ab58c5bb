package apiserver

import (
	"errors"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/trace"
)

// tooNewWait is how long a read waits for a revision that is not there yet
// (cacher blockTimeout).
const tooNewWait = 3 * time.Second

// list is the verb list. Where the client accepts any state
// (resourceVersion=0) it is the watch cache's at once; otherwise the store is
// asked for its newest revision and the cache answers when it has it
// (ConsistentListFromCache). Pages after the first come from the store, at the
// revision of the first.
func (c *call) list() *Response {
	opts := &c.req.List
	want, err := cacher.NewSelector(c.kind, c.req.Namespace, c.req.Name, opts)
	if err != nil {
		return &Response{Err: c.Refuse(trace.StageDecode, "", err)}
	}
	if opts.ResourceVersion == "0" {
		opts.Limit = 0 // who takes any state gets it whole (cacher.go GetList)
	}
	if opts.Continue != "" {
		return c.nextPage(want, opts)
	}
	if opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact || // or as it was said before there was a match
		opts.ResourceVersionMatch == "" && opts.Limit > 0 && opts.ResourceVersion != "" && opts.ResourceVersion != "0" {
		return c.listAt(want, opts)
	}
	if c.cache().IsLost() {
		if opts.Limit > 0 && want.Everything() {
			return c.page(want, opts, c.s.st.Revision(), c.kind.Prefix)
		}
		return &Response{Err: c.Refuse(trace.StageStorage, "watch cache", c.cache().Unready(c.Task.Elapsed()))}
	}
	how, err := c.freshen(opts.ResourceVersion)
	if storage.IsTooLargeResourceVersion(err) && opts.ResourceVersion == "" {
		// The cache lags; what the client wants is at the store (cacher/delegator.go
		// GetList, the fallback of a consistent read).
		return c.page(want, opts, c.s.st.Revision(), c.kind.Prefix)
	}
	if err != nil {
		return &Response{Err: c.Refuse(trace.StageStorage, "watch cache", err)}
	}
	rev := c.cache().Current()
	items, more := c.chosen(want, opts.Limit)
	if more {
		return c.page(want, opts, rev, c.kind.Prefix)
	}
	c.Pass(trace.StageStorage, "watch cache", registry.Count(len(items), c.kind)+" at revision "+object.FormatRevision(rev)+", from the watch cache: "+how, nil)
	return &Response{IsList: true, Items: items, ListMeta: metav1.ListMeta{ResourceVersion: object.FormatRevision(rev)}}
}

// chosen are the cache's objects that are wanted, at most limit; more says that there
// are others. The choice is the request's alone, so a long one is made beside the kernel.
func (c *call) chosen(want *cacher.Selector, limit int64) (items []runtime.Object, more bool) {
	take := func(obj runtime.Object) bool {
		if !want.Matches(obj) {
			return true
		}
		if more = limit > 0 && int64(len(items)) == limit; !more {
			items = append(items, obj)
		}
		return !more
	}
	all := c.cache()
	bulk := all.Len() * want.Size()
	if bulk < longChoice {
		all.Scan(c.req.Namespace, func(_ string, en *cacher.Entry) bool { return take(en.Object) })
		return items, more
	}
	here := make([]runtime.Object, 0, all.Len())
	all.Scan(c.req.Namespace, func(_ string, en *cacher.Entry) bool { here = append(here, en.Object); return true })
	c.asideOf(bulk, "the choice", func() {
		for _, obj := range here {
			if !take(obj) {
				break
			}
		}
	})
	return items, more
}

// longChoice is how many comparisons of an object with a requirement are many.
const longChoice = 1 << 20

// freshen waits until the cache is as fresh as the client asks for.
func (c *call) freshen(resourceVersion string) (how string, err error) {
	rv, err := object.ParseRevision(resourceVersion)
	if err != nil {
		return "", apierrors.NewBadRequest("invalid resource version: " + err.Error())
	}
	switch resourceVersion {
	case "0":
		if !c.cache().Wait(c.Task, 0, tooNewWait) {
			return "", apierrors.NewTooManyRequests("storage is (re)initializing", 1)
		}
		return "the client accepts any state.", nil
	case "":
		resp, err := c.s.st.Range(c.Task, &pb.RangeRequest{Key: []byte(c.kind.Prefix), Limit: 1, KeysOnly: true})
		if err != nil {
			return "", storeError(err)
		}
		rv = resp.Header.Revision
		how = "the store was asked for its newest revision, and the cache has it."
	default:
		how = "the client accepts any state from revision " + resourceVersion + " on."
	}
	if !c.cache().Wait(c.Task, rv, tooNewWait) {
		return "", tooLarge(rv, c.cache().Current())
	}
	return how, nil
}

// nextPage goes on where a token says (apiserver pkg/storage/continue.go).
func (c *call) nextPage(want *cacher.Selector, opts *metav1.ListOptions) *Response {
	if opts.ResourceVersion != "" && opts.ResourceVersion != "0" {
		return &Response{Err: apierrors.NewBadRequest("specifying resource version is not allowed when using continue")}
	}
	from, rev, err := storage.DecodeContinue(opts.Continue, c.kind.Prefix)
	if err != nil {
		return &Response{Err: apierrors.NewBadRequest("invalid continue token: " + err.Error())}
	}
	return c.page(want, opts, max(rev, 0), from)
}

// listAt lists exactly as of a revision.
func (c *call) listAt(want *cacher.Selector, opts *metav1.ListOptions) *Response {
	rv, err := object.ParseRevision(opts.ResourceVersion)
	if err != nil || rv == 0 {
		return &Response{Err: apierrors.NewBadRequest("resourceVersionMatch=Exact needs a resourceVersion other than 0")}
	}
	return c.page(want, opts, rv, c.kind.Prefix)
}

// page reads up to opts.Limit objects from the store at a revision (0: the newest), from a
// key on.
func (c *call) page(want *cacher.Selector, opts *metav1.ListOptions, rev int64, from string) *Response {
	root := c.kind.Prefix
	if c.kind.Namespaced && c.req.Namespace != "" {
		root += c.req.Namespace + "/"
	}
	from = max(from, root)
	end := cacher.PrefixEnd(root)
	var items []runtime.Object
	var read cacher.Tally // how they were encrypted
	for {
		resp, err := c.s.st.Range(c.Task, &pb.RangeRequest{Key: []byte(from), RangeEnd: end, Limit: opts.Limit, Revision: rev})
		if err != nil {
			return &Response{Err: c.Refuse(trace.StageStorage, "etcd", c.pageError(err, opts, from))}
		}
		if rev == 0 {
			rev = resp.Header.Revision
		}
		for i, kv := range resp.Kvs {
			en, how, err := c.openItem(kv)
			if err != nil {
				return &Response{Err: c.Refuse(trace.StageStorage, "etcd", err)}
			}
			read.Add(how)
			if want.Matches(en.Object) {
				items = append(items, en.Object)
			}
			if opts.Limit > 0 && int64(len(items)) == opts.Limit && (resp.More || i+1 < len(resp.Kvs)) {
				return c.pageOf(items, opts, rev, string(kv.Key)+"\x00", resp.Count-int64(i)-1, want, &read)
			}
		}
		if !resp.More {
			return c.pageOf(items, opts, rev, "", 0, want, &read)
		}
		from = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
	}
}

func (c *call) pageOf(items []runtime.Object, opts *metav1.ListOptions, rev int64, next string, left int64, want *cacher.Selector, read *cacher.Tally) *Response {
	meta := metav1.ListMeta{ResourceVersion: object.FormatRevision(rev)}
	note := registry.Count(len(items), c.kind) + " as of revision " + meta.ResourceVersion + ", from the store"
	if next != "" {
		var err error
		if meta.Continue, err = storage.EncodeContinue(next, c.kind.Prefix, rev); err != nil {
			return &Response{Err: apierrors.NewInternalError(err)}
		}
		if want.Everything() {
			meta.RemainingItemCount = &left
		}
		note += "; there are more, the client gets a token to continue"
	}
	c.Pass(trace.StageStorage, "etcd", note+".", nil)
	c.tellTally(read)
	return &Response{IsList: true, Items: items, ListMeta: meta}
}

// pageError is a failed read of an old revision (apiserver
// pkg/storage/etcd3/errors.go).
func (c *call) pageError(err error, opts *metav1.ListOptions, from string) error {
	if !errors.Is(err, rpctypes.ErrCompacted) {
		if errors.Is(err, rpctypes.ErrFutureRev) {
			rv, _ := object.ParseRevision(opts.ResourceVersion)
			return tooLarge(rv, c.s.st.Revision())
		}
		return storeError(err)
	}
	if opts.Continue != "" {
		expired := apierrors.NewResourceExpired(inconsistentContinue)
		if expired.ErrStatus.ListMeta.Continue, err = storage.EncodeContinue(from, c.kind.Prefix, newestState); err != nil {
			return apierrors.NewInternalError(err)
		}
		return expired
	}
	return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
}

const (
	// newestState, in a token, goes on with what there is now.
	newestState = -1
	// inconsistentContinue is etcd3/errors.go's.
	inconsistentContinue = "The provided continue parameter is too old to display a consistent list result. You can start a new list without " +
		"the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided " +
		"token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned " +
		"and now may show up in the list."
)
