package apiserver

import (
	"io"

	"kviz/cluster/apiserver/fairness"
)

// WriteFlows writes a dump of /debug/api_priority_and_fairness/, and reports
// whether there is one of the name.
func (s *Server) WriteFlows(w io.Writer, dump string, details bool) bool {
	return s.flows.Dump(w, s.k.Elapsed(), s.k.Epoch(), dump, details)
}

// WriteMetrics writes the server's metrics: those of priority and fairness.
func (s *Server) WriteMetrics(w io.Writer) { s.flows.WriteMetrics(w, s.k.Elapsed()) }

// Digest is what priority and fairness knows of a request.
func (c *call) Digest() *fairness.Digest {
	return &fairness.Digest{
		User: c.User.Name, Groups: c.User.Groups, Verb: c.Req.Verb,
		Group: c.Req.Resource.Group, Resource: c.Req.Resource.Resource, Subresource: c.Req.Subresource, Namespace: c.Req.Namespace,
	}
}

// About is the rest of what dumps tell of a request.
func (c *call) About() (verb, path, name, apiVersion string) {
	return c.Req.Verb, c.Req.URL(), c.Req.Name, c.Req.Resource.GroupVersion().String()
}
