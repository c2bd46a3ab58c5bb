package apiserver

import (
	apidiscovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/apiserver/request"

	"kviz/cluster/apiserver/aggregator"
)

// How the aggregator, which says who serves which group version, is a part of this
// server: what it asks, and what others ask it.

// aggregate sends the request on to the server that serves its group version.
func (c *call) aggregate() *request.Response {
	answer := c.s.aggregator.Proxy(&c.Scope, c.Req.Resource.GroupVersion(), c.User, c.Req.Proxied)
	if answer == nil {
		return &request.Response{Err: notServed()}
	}
	return &request.Response{Raw: answer}
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
