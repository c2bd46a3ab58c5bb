package apiserver

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// at is where the request's object is at the store.
func (c *call) at() etcd3.Key {
	return etcd3.Key{Kind: c.kind, Namespace: c.Ref.Namespace, Name: c.Ref.Name}
}

// writer is on whose behalf the request writes.
func (c *call) writer() etcd3.Writer {
	return etcd3.Writer{DryRun: c.req.DryRun, Component: c.req.System}
}

func (c *call) cache() *cacher.Cache { return c.s.cacheOf(c.kind) }

// get is the verb get.
func (c *call) get() *Response {
	if c.sub != nil && !slices.Contains(c.sub.Verbs, "get") {
		return &Response{Err: apierrors.NewMethodNotSupported(c.kind.GroupResource(), "get")}
	}
	obj, err := c.s.store.Get(&c.Scope, c.at(), c.req.Get.ResourceVersion)
	if err != nil {
		return &Response{Err: err}
	}
	if c.sub != nil && c.sub.Name == "scale" {
		scale, err := c.scaleOf(obj)
		if err != nil {
			return &Response{Err: err}
		}
		return &Response{Object: scale}
	}
	return request.Own(obj)
}

// list is the verb list.
func (c *call) list() *Response {
	found, err := c.s.store.GetList(&c.Scope, etcd3.Range{Kind: c.kind, Namespace: c.req.Namespace, Name: c.req.Name}, c.req.List)
	if err != nil {
		return &Response{Err: err}
	}
	return &Response{IsList: true, Items: found.Items, ListMeta: found.Meta}
}

// insert is the storage stage of a creation.
func (c *call) insert(in approved) (written, error) {
	return c.s.store.Create(&c.Scope, c.at(), in.obj, c.writer())
}

// replace is the storage stage of an update; [etcd3.ErrStale] asks for another round.
func (c *call) replace(in approved, old *etcd3.Stored) (written, error) {
	return c.s.store.Update(&c.Scope, c.at(), in.obj, old, c.writer())
}

// answer is what was written: the caller's own copy, but for what
// components patch, and the Events they tell: at these they look at most.
func (c *call) answer(w written) *Response {
	switch {
	case w.Shared && c.req.System && (c.req.Verb == "patch" || c.kind.Is("Event")):
		return &Response{Object: w.Object, Shared: w.Object}
	case w.Shared:
		return &Response{Object: w.Object.DeepCopyObject(), Shared: w.Object}
	}
	return &Response{Object: w.Object.DeepCopyObject()} // parts of it may be the old object's
}

// aside computes a part of the request, which is big if the request is.
func (c *call) aside(part string, fn func()) {
	request.Aside(&c.Scope, part, func(fn func()) struct{} { fn(); return struct{}{} }, fn)
}

// difference is [object.Diff] of what may be big; nil for a component's request, which
// nobody reads so closely.
func (c *call) difference(a, b runtime.Object) (diff []trace.FieldDiff) {
	if !c.req.System {
		c.aside("the changes", func() { diff = object.Diff(a, b) })
	}
	return diff
}

// conflict is 409 in Kubernetes' words.
func (c *call) conflict() error {
	return apierrors.NewConflict(c.kind.GroupResource(), c.Ref.Name,
		fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
}
