package handlers

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// get is the verb get.
func (h *Handlers) get(c *Call) *request.Response {
	if c.Sub != nil && !slices.Contains(c.Sub.Verbs, "get") {
		return &request.Response{Err: apierrors.NewMethodNotSupported(c.Kind.GroupResource(), "get")}
	}
	obj, err := h.Store.Get(&c.Scope, c.At(), c.Req.Get.ResourceVersion)
	if err != nil {
		return &request.Response{Err: err}
	}
	if c.Sub != nil && c.Sub.Name == "scale" {
		scale, err := h.scaleOf(c, obj)
		if err != nil {
			return &request.Response{Err: err}
		}
		return &request.Response{Object: scale}
	}
	return request.Own(obj)
}

// list is the verb list.
func (h *Handlers) list(c *Call) *request.Response {
	found, err := h.Store.GetList(&c.Scope, etcd3.Range{Kind: c.Kind, Namespace: c.Req.Namespace, Name: c.Req.Name}, c.Req.List)
	if err != nil {
		return &request.Response{Err: err}
	}
	return &request.Response{IsList: true, Items: found.Items, ListMeta: found.Meta}
}

// difference is [object.Diff] of what may be big; nil for a component's request, which
// nobody reads so closely.
func (c *Call) difference(a, b runtime.Object) []trace.FieldDiff {
	if c.Req.System {
		return nil
	}
	return request.Offload(&c.Scope, "the changes", diffOf, [2]runtime.Object{a, b})
}

func diffOf(o [2]runtime.Object) []trace.FieldDiff { return object.Diff(o[0], o[1]) }

// conflict is 409 in Kubernetes' words.
func (c *Call) conflict() error {
	return apierrors.NewConflict(c.Kind.GroupResource(), c.Ref.Name,
		fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
}
