package apiserver

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// connection is an in-process client: it makes a Request of each verb.
type connection struct {
	s    *Server // any of them: for what they share
	door Door
	lane trace.Lane
	user authn.User

	token string // of one that shows a token, which says who it is
}

func (c *connection) request(verb string, r client.Resource, namespace, name, subresource string) *Request {
	req := &Request{
		Verb: verb, Resource: r.GroupVersionResource, Subresource: subresource, Namespace: namespace, Name: name,
		User: &c.user, Lane: c.lane, System: true,
	}
	if c.token != "" {
		req.User, req.Token = nil, c.token
	}
	return req
}

func (c *connection) do(t *sim.Task, req *Request) (runtime.Object, error) {
	r := c.door.Handle(t, req)
	return r.Object, r.Err
}

// Get reads one object.
func (c *connection) Get(t *sim.Task, r client.Resource, namespace, name string) (runtime.Object, error) {
	return c.do(t, c.request("get", r, namespace, name, ""))
}

// List reads many objects.
func (c *connection) List(t *sim.Task, r client.Resource, namespace string, opts metav1.ListOptions) ([]runtime.Object, int64, error) {
	req := c.request("list", r, namespace, "", "")
	req.List = opts
	resp := c.door.Handle(t, req)
	if resp.Err != nil {
		return nil, 0, resp.Err
	}
	rev, err := object.ParseRevision(resp.ListMeta.ResourceVersion)
	return resp.Items, rev, err
}

// Watch opens a watch.
func (c *connection) Watch(t *sim.Task, r client.Resource, namespace string, opts metav1.ListOptions) (client.Watch, error) {
	req := c.request("watch", r, namespace, "", "")
	req.List = opts
	resp := c.door.Handle(t, req)
	if resp.Err != nil {
		return nil, resp.Err
	}
	return resp.Watch, nil
}

// Create makes an object.
func (c *connection) Create(t *sim.Task, r client.Resource, namespace string, obj runtime.Object) (runtime.Object, error) {
	req := c.request("create", r, namespace, "", "")
	req.Object = obj
	return c.do(t, req)
}

// Update replaces an object or a subresource of it.
func (c *connection) Update(t *sim.Task, r client.Resource, namespace string, obj runtime.Object, subresource string) (runtime.Object, error) {
	req := c.request("update", r, namespace, object.Name(obj), subresource)
	req.Object = obj
	return c.do(t, req)
}

// Patch changes parts of an object.
func (c *connection) Patch(t *sim.Task, r client.Resource, namespace, name string, pt types.PatchType, data []byte, subresource string) (runtime.Object, error) {
	req := c.request("patch", r, namespace, name, subresource)
	req.PatchType, req.Patch = pt, data
	if pt == types.ApplyPatchType {
		req.FieldManager, req.Force = c.lane.Component, true
	}
	return c.do(t, req)
}

// Delete removes an object.
func (c *connection) Delete(t *sim.Task, r client.Resource, namespace, name string, opts metav1.DeleteOptions) error {
	req := c.request("delete", r, namespace, name, "")
	req.Delete = opts
	_, err := c.do(t, req)
	return err
}

// CreateSub posts to a subresource.
func (c *connection) CreateSub(t *sim.Task, r client.Resource, namespace, name, subresource string, obj runtime.Object) (runtime.Object, error) {
	req := c.request("create", r, namespace, name, subresource)
	req.Object = obj
	return c.do(t, req)
}
