package apiserver

import (
	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"kviz/cluster/apiserver/aggregator"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// How the aggregator, which says who serves which group version, is a part of this
// server: what it asks, and what others ask it.

// routeAPIServices has the request for an APIService wait until what is served here is
// registered.
func (c *call) routeAPIServices() error {
	if c.Kind != aggregator.Kind() {
		return nil
	}
	a := c.s.aggregator
	a.Follow(c.Last)
	if c.User.Name == selfUser.Name {
		return nil // it is the registration
	}
	return c.awaitFirst(a.Registered())
}

// StaleGroups is [client.Discovery.StaleGroups].
func (c *connection) StaleGroups() []client.StaleGroup {
	s := c.s
	if up := s.peers.ready(); up != nil {
		s = up
	}
	return s.aggregator.StaleGroups()
}

// aggregate sends the request on to the server that serves its group version.
func (c *call) aggregate() *Response {
	answer := c.s.aggregator.Proxy(&c.Scope, c.Req.Resource.GroupVersion(), c.User, c.Req.Proxied)
	if answer == nil {
		return &Response{Err: notServed()}
	}
	return &Response{Raw: answer}
}

// Aggregates reports whether another server serves the group version, or has been said
// to.
func (s *Server) Aggregates(gv schema.GroupVersion) bool { return s.aggregator.Serves(gv) }

// AggregatedGroups is the discovery of what other servers serve: the group with the
// highest priority first.
func (s *Server) AggregatedGroups() []apidiscovery.APIGroupDiscovery { return s.aggregator.Groups() }

// AggregatedOpenAPI are the OpenAPI v3 documents of what other servers serve, where they
// told one.
func (s *Server) AggregatedOpenAPI() []aggregator.OpenAPIDocument { return s.aggregator.OpenAPI() }

// AggregatedOpenAPIv2 is what other servers add to the OpenAPI v2 document, where they
// told something.
func (s *Server) AggregatedOpenAPIv2() []aggregator.OpenAPIv2Document {
	return s.aggregator.OpenAPIv2()
}

// newAggregator makes the aggregator of the server's process.
func (s *Server) newAggregator() *aggregator.Aggregator {
	return aggregator.New(aggregator.Config{
		Process: s.p, Rand: s.stream("aggregator"), Host: s, Caches: s.cacheOf, Revision: s.st.Revision, Dial: s.cfg.Dial,
	})
}

// ServiceEndpoints are the addresses of the ready endpoints of a Service's port.
func (s *Server) ServiceEndpoints(namespace, name string, port int32) ([]string, error) {
	ready, err := serviceEndpoints{lister{s}}.Endpoints(namespace, name, port)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(ready))
	for i, e := range ready {
		out[i] = e.Address
	}
	return out, nil
}

// FollowAPIServices has the aggregators of the other servers begin.
func (s *Server) FollowAPIServices(why trace.ID) {
	for _, p := range s.peers.all {
		if p != s && p.Ready() {
			p.aggregator.Follow(why)
		}
	}
}

// WriteAPIServices puts the first APIServices into the store.
func (s *Server) WriteAPIServices(t *sim.Task, all []*apiregistration.APIService) {
	objs := make([]initial, len(all))
	for i, svc := range all {
		objs[i] = initial{aggregator.Kind(), svc}
	}
	s.writeInitial(t, objs)
}

// CreateAPIService makes an APIService.
func (s *Server) CreateAPIService(t *sim.Task, client string, svc *apiregistration.APIService) error {
	req := aggregatorRequest("create", svc.Name, client)
	req.Object = svc
	return s.serve(t, req).Err
}

// DeleteAPIService deletes an APIService if it is still the same.
func (s *Server) DeleteAPIService(t *sim.Task, client string, svc *apiregistration.APIService) error {
	req := aggregatorRequest("delete", svc.Name, client)
	req.Delete.Preconditions = metav1.NewUIDPreconditions(string(svc.UID))
	return s.serve(t, req).Err
}

// UpdateAPIServiceStatus writes the status of an APIService.
func (s *Server) UpdateAPIServiceStatus(t *sim.Task, client string, svc *apiregistration.APIService) error {
	req := aggregatorRequest("update", svc.Name, client)
	req.Subresource, req.Object, req.Causes = "status", svc, t.Causes()
	return s.serve(t, req).Err
}

func aggregatorRequest(verb, name, client string) *Request {
	return &Request{Verb: verb, Resource: aggregator.Kind().GroupVersionResource, Name: name, User: &selfUser, Client: client, FieldManager: client, System: true}
}
