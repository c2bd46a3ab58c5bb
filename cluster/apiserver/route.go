package apiserver

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/registry"
)

// route finds the subresource, nil where there is none; what is not served is 404, a
// verb it does not have 405.
func (c *call) route() (sub *registry.Subresource, err error) {
	if c.kind == nil {
		return nil, notServed()
	}
	if c.kind.Custom != nil {
		c.Bulk.Definition = crd.Of(c.kind).Size()
	}
	if err := c.routeCustom(); err != nil {
		return nil, err
	}
	if err := c.routeFlows(); err != nil {
		return nil, err
	}
	if err := c.routeAPIServices(); err != nil {
		return nil, err
	}
	if c.kind.Deprecation() != "" && !c.req.System {
		c.Warnings = append(c.Warnings, c.kind.Deprecation())
	}
	verbs := c.kind.Verbs
	if c.req.Subresource != "" {
		if sub = c.kind.Subresource(c.req.Subresource); sub == nil {
			if c.kind.Is("Pod") && connects[c.req.Subresource] {
				return nil, nil
			}
			return nil, notServed()
		}
		verbs = sub.Verbs
	}
	for _, v := range verbs {
		if v == c.req.Verb {
			return sub, nil
		}
	}
	return nil, apierrors.NewMethodNotSupported(c.kind.GroupResource(), c.req.Verb)
}

func notServed() error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "the server could not find the requested resource", 0, true)
}
