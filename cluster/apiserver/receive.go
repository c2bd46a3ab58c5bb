package apiserver

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// receive notes that a request is here. kind is nil for what is not served.
func receive(on *request.Scope, r *request.Request, kind *registry.Kind) {
	on.Ref = trace.Ref{Namespace: r.Namespace, Name: r.Name}
	if kind != nil {
		on.Ref.APIVersion, on.Ref.Kind = kind.APIVersion, kind.Kind
		if r.Object != nil && on.Ref.Name == "" && kind.Stored() {
			on.Ref.Name = object.Name(r.Object)
		}
	}
	on.Bulk = request.Bulk{Sent: len(r.Body) + len(r.Patch), Inline: r.System || kind.MayConvert(), Console: r.Peer == ""}
	if r.ContentType != runtime.ContentTypeProtobuf { // whose depth is that of its type
		on.Bulk.Look(r.Body)
	}
	on.Bulk.Look(r.Patch)
	user := r.User
	if user == nil {
		user = &authn.User{}
	}
	payload := &trace.Request{
		Request: on.Number, Verb: r.Verb, Path: r.URL(), Resource: r.Resource.Resource, Subresource: r.Subresource,
		Namespace: r.Namespace, Name: r.Name, User: user.Name, Client: r.Sender(), Patch: string(r.Patch),
	}
	if r.Peer != "" && (r.Subresource == "binding" || r.Resource.Resource == "bindings") {
		payload.Agent, _, _ = strings.Cut(r.UserAgent, " ")
	}
	on.Bulk.Path = payload.Path
	if r.Object != nil && !r.System {
		payload.Body = trace.Obj(r.Object.DeepCopyObject())
	}
	on.Last = on.Task.Emit(trace.Event{Kind: trace.RequestReceived, Object: on.Ref, Causes: causesOf(r.Causes), Payload: payload})
}

// causesOf is ids, never nil, so that a request without causes has none.
func causesOf(ids []trace.ID) []trace.ID {
	if ids == nil {
		return []trace.ID{}
	}
	return ids
}
