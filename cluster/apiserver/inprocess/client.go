// Package inprocess is how components in the API server's process talk to it: a client that
// turns each verb into a [request.Request] and hands it to a server. What goes over the
// network with TLS upstream (client-go's rest.Client) is a function call here, through the
// same pipeline as a request that comes over HTTPS. Start reading at [New].
package inprocess

import (
	"net/http"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Handler takes requests to a server: the server itself, or what stands before several.
type Handler interface {
	Handle(t *sim.Task, req *request.Request) *request.Response
}

// Discovery is what a client asks besides the verbs: which kinds are in use, and for
// which groups that is unknown.
type Discovery interface {
	client.Usage
	client.Balance
	client.Discovery
}

// Client is a connection to a server by way of a handler.
type Client struct {
	Discovery
	handler Handler
	lane    trace.Lane
	user    authn.User

	token string // of one that shows a token, which says who it is
}

// New makes a connection as user, for the component in lane.
func New(h Handler, d Discovery, lane trace.Lane, user authn.User) *Client {
	return &Client{Discovery: d, handler: h, lane: lane, user: user}
}

// WithToken makes the connection of a client with a bearer token: the authenticators
// find out at each request who that is.
func WithToken(h Handler, d Discovery, lane trace.Lane, token string) *Client {
	return &Client{Discovery: d, handler: h, lane: lane, token: token}
}

func (c *Client) request(verb string, r client.Resource, namespace, name, subresource string) *request.Request {
	req := &request.Request{
		Verb: verb, Resource: r.GroupVersionResource, Subresource: subresource, Namespace: namespace, Name: name,
		User: &c.user, Lane: c.lane, System: true,
	}
	if c.token != "" {
		req.User, req.Token = nil, c.token
	}
	return req
}

func (c *Client) do(t *sim.Task, req *request.Request) (runtime.Object, error) {
	r := c.handler.Handle(t, req)
	return r.Object, r.Err
}

// Get reads one object.
func (c *Client) Get(t *sim.Task, r client.Resource, namespace, name string) (runtime.Object, error) {
	return c.do(t, c.request("get", r, namespace, name, ""))
}

// GetScale is [client.Scales].
func (c *Client) GetScale(t *sim.Task, r client.Resource, namespace, name string) (*autoscalingv1.Scale, error) {
	obj, err := c.do(t, c.request("get", r, namespace, name, "scale"))
	if err != nil {
		return nil, err
	}
	return obj.(*autoscalingv1.Scale), nil
}

// GetAggregated is [client.Aggregation].
func (c *Client) GetAggregated(t *sim.Task, r client.AggregatedRead) (int, []byte, error) {
	req := c.request(r.Verb(), client.Resource{GroupVersionResource: r.Resource}, r.Namespace, r.Name, r.Subresource)
	req.Path = r.Path()
	if len(r.Query) > 0 {
		req.Path += "?" + r.Query.Encode()
	}
	if req.Verb == "list" {
		req.List.LabelSelector = r.Query.Get("labelSelector")
	}
	req.Proxied = &remote.Request{Method: http.MethodGet, Path: r.Path(), Query: r.Query, Header: http.Header{"Accept": {"application/json"}}}
	resp := c.handler.Handle(t, req)
	if resp.Raw == nil {
		return 0, nil, resp.Err
	}
	return resp.Raw.Code, resp.Raw.Body, nil
}

// List reads many objects.
func (c *Client) List(t *sim.Task, r client.Resource, namespace string, opts metav1.ListOptions) ([]runtime.Object, int64, error) {
	req := c.request("list", r, namespace, "", "")
	req.List = opts
	resp := c.handler.Handle(t, req)
	if resp.Err != nil {
		return nil, 0, resp.Err
	}
	rev, err := object.ParseRevision(resp.ListMeta.ResourceVersion)
	return resp.Items, rev, err
}

// Watch opens a watch.
func (c *Client) Watch(t *sim.Task, r client.Resource, namespace string, opts metav1.ListOptions) (client.Watch, error) {
	req := c.request("watch", r, namespace, "", "")
	req.List = opts
	resp := c.handler.Handle(t, req)
	if resp.Err != nil {
		return nil, resp.Err
	}
	return resp.Watch, nil
}

// Create makes an object.
func (c *Client) Create(t *sim.Task, r client.Resource, namespace string, obj runtime.Object) (runtime.Object, error) {
	req := c.request("create", r, namespace, "", "")
	req.Object = obj
	return c.do(t, req)
}

// Update replaces an object or a subresource of it.
func (c *Client) Update(t *sim.Task, r client.Resource, namespace string, obj runtime.Object, subresource string) (runtime.Object, error) {
	req := c.request("update", r, namespace, object.Name(obj), subresource)
	req.Object = obj
	return c.do(t, req)
}

// Patch changes parts of an object.
func (c *Client) Patch(t *sim.Task, r client.Resource, namespace, name string, pt types.PatchType, data []byte, subresource string) (runtime.Object, error) {
	req := c.request("patch", r, namespace, name, subresource)
	req.PatchType, req.Patch = pt, data
	return c.do(t, req)
}

// Apply applies a configuration, whoever owns its fields now.
func (c *Client) Apply(t *sim.Task, r client.Resource, namespace, name string, configuration []byte, manager string) (runtime.Object, error) {
	return c.apply(t, c.request("patch", r, namespace, name, ""), configuration, manager)
}

// ApplyStatus is Apply of an object's status.
func (c *Client) ApplyStatus(t *sim.Task, r client.Resource, namespace, name string, configuration []byte, manager string) (runtime.Object, error) {
	return c.apply(t, c.request("patch", r, namespace, name, "status"), configuration, manager)
}

func (c *Client) apply(t *sim.Task, req *request.Request, configuration []byte, manager string) (runtime.Object, error) {
	req.PatchType, req.Patch, req.FieldManager, req.Force = types.ApplyPatchType, configuration, manager, true
	return c.do(t, req)
}

// Delete removes an object.
func (c *Client) Delete(t *sim.Task, r client.Resource, namespace, name string, opts metav1.DeleteOptions) error {
	req := c.request("delete", r, namespace, name, "")
	req.Delete = opts
	_, err := c.do(t, req)
	return err
}

// CreateSub posts to a subresource.
func (c *Client) CreateSub(t *sim.Task, r client.Resource, namespace, name, subresource string, obj runtime.Object) (runtime.Object, error) {
	req := c.request("create", r, namespace, name, subresource)
	req.Object = obj
	return c.do(t, req)
}
