package apiserver

import (
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// receive notes that the request is here.
func (c *call) receive() {
	r := c.Req
	c.Ref = trace.Ref{Namespace: r.Namespace, Name: r.Name}
	if c.Kind != nil {
		c.Ref.APIVersion, c.Ref.Kind = c.Kind.APIVersion, c.Kind.Kind
		if r.Object != nil && c.Ref.Name == "" && c.Kind.Stored() {
			c.Ref.Name = object.Name(r.Object)
		}
	}
	c.Bulk = request.Bulk{Sent: len(r.Body) + len(r.Patch), Inline: r.System || c.Kind.MayConvert(), Console: r.Peer == ""}
	user := r.User
	if user == nil {
		user = &authn.User{}
	}
	payload := &trace.Request{
		Request: c.Number, Verb: r.Verb, Path: r.URL(), Resource: r.Resource.Resource, Subresource: r.Subresource,
		Namespace: r.Namespace, Name: r.Name, User: user.Name, Client: r.Sender(), Patch: string(r.Patch),
	}
	c.Bulk.Path = payload.Path
	if r.Object != nil && !r.System {
		payload.Body = trace.Obj(r.Object.DeepCopyObject())
	}
	c.Last = c.Task.Emit(trace.Event{Kind: trace.RequestReceived, Object: c.Ref, Causes: causesOf(r.Causes), Payload: payload})
}

// causesOf is ids, never nil, so that a request without causes has none.
func causesOf(ids []trace.ID) []trace.ID {
	if ids == nil {
		return []trace.ID{}
	}
	return ids
}
