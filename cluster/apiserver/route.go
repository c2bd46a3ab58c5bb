package apiserver

import (
	"net/http"
	"slices"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/apiserver/aggregator"
	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/flowcontrol"
	"kviz/cluster/apiserver/handlers"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// route finds the subresource, nil where there is none; what is not served is 404, a
// verb it does not have 405.
func route(c *handlers.Call) (sub *registry.Subresource, err error) {
	if c.Kind == nil {
		return nil, notServed()
	}
	if c.Kind.Custom != nil {
		c.Bulk.Definition = crd.Of(c.Kind).Size()
	}
	if err := routeCustom(c); err != nil {
		return nil, err
	}
	if c.Kind.Deprecation() != "" && !c.Req.System {
		c.Warnings = append(c.Warnings, c.Kind.Deprecation())
	}
	verbs := c.Kind.Verbs
	if c.Req.Subresource != "" {
		if sub = c.Kind.Subresource(c.Req.Subresource); sub == nil {
			if handlers.Connects(c.Kind, c.Req.Subresource) {
				return nil, nil
			}
			return nil, notServed()
		}
		verbs = sub.Verbs
	}
	for _, v := range verbs {
		if v == c.Req.Verb {
			return sub, nil
		}
	}
	return nil, apierrors.NewMethodNotSupported(c.Kind.GroupResource(), c.Req.Verb)
}

func notServed() error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "the server could not find the requested resource", 0, true)
}

// routeCustom refuses paths that a custom kind has not and warns of versions that
// are going.
func routeCustom(c *handlers.Call) error {
	if c.Kind.Custom == nil || c.Req.Kind != nil {
		return nil
	}
	across := c.Req.Verb == "list" || c.Req.Verb == "watch" || c.Req.Verb == "deletecollection"
	if !c.Kind.Namespaced && c.Req.Namespace != "" || c.Kind.Namespaced && c.Req.Namespace == "" && !across {
		return notServed()
	}
	v := crd.Of(c.Kind)
	if w := v.Deprecation(); w != "" && !c.Req.System {
		c.Warnings = append(c.Warnings, w)
	}
	if c.Req.Subresource != "" && c.Kind.Subresource(c.Req.Subresource) == nil {
		return apierrors.NewNotFound(c.Kind.GroupResource(), c.Req.Name)
	}
	if !slices.Contains(c.Kind.Verbs, c.Req.Verb) {
		return apierrors.NewMethodNotSupported(c.Kind.GroupResource(), c.Req.Verb)
	}
	return nil
}

// awaitFirstObjects has the request wait for the objects of its kind that every cluster has,
// where they are only made when somebody first asks: what is served here as APIServices, and
// the FlowSchemas and priority levels.
func awaitFirstObjects(c *handlers.Call, services *aggregator.Aggregator, flows *flowcontrol.Objects) error {
	switch {
	case c.Kind == nil:
		return nil
	case c.Kind == aggregator.Kind():
		services.Follow(c.Last)
		if c.User.Name == selfUser.Name {
			return nil // it is the registration
		}
		there, came := services.Registered()
		return await(c, there, came)
	case c.Kind.Group == flowcontrolv1.GroupName && c.Kind.Stored():
		flows.Follow(c.Last)
		there, came := flows.There()
		return await(c, there, came)
	}
	return nil
}

// await waits until something is there, for as long as a watch cache may take to begin.
func await(c *handlers.Call, there *bool, came *sim.Cond) error {
	for end := c.Task.Elapsed() + etcd3.TooNewWait; !*there; {
		left := end - c.Task.Elapsed()
		if left <= 0 {
			return c.Refuse(trace.StageStorage, "watch cache", apierrors.NewTooManyRequests("storage is (re)initializing", 1))
		}
		came.WaitTimeout(c.Task, left)
	}
	return nil
}
