package cloud

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"kviz/cluster/controller/cloudprovider"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Network, How: simulated.Simplified,
	What: "with --cloud-provider external packets to a pod of another node need a route in the cloud's table, which node-route-controller keeps; a route leads to a node, whatever its addresses are",
	Seen: "the cloud.call events; pane 8, the way of a packet",
})

// routeTakes is what making or deleting a route takes.
const routeTakes = 400 * time.Millisecond

// errFull is the answer to CreateRoute while the table is full.
var errFull = errors.New("the quota of routes is used up")

// FillRoutes says whether the table of routes takes no more. Those that are there stay.
func (c *Cloud) FillRoutes(yes bool) { c.full = yes }

// Routes are those in the table, in the order in which they were made.
func (c *Cloud) Routes() []cloudprovider.Route { return c.routes }

// Routed reports whether the table leads to the pods of a node.
func (c *Cloud) Routed(node, cidr string) bool {
	return slices.ContainsFunc(c.routes, func(r cloudprovider.Route) bool { return r.Node == node && r.CIDR == cidr })
}

// ListRoutes are the routes that there are (cloudprovider.Routes ListRoutes).
func (c *Cloud) ListRoutes(t *sim.Task) (list []cloudprovider.Route, err error) {
	err = c.call(t, trace.CloudCall{Call: "ListRoutes"}, trace.Ref{}, soon(0), func() (string, error) {
		list = slices.Clone(c.routes)
		if len(list) == 1 {
			return "1 route", nil
		}
		return fmt.Sprintf("%d routes", len(list)), nil
	})
	return list, err
}

// CreateRoute makes a route to a node (CreateRoute). hint is a part of its name.
func (c *Cloud) CreateRoute(t *sim.Task, hint string, r cloudprovider.Route) error {
	return c.call(t, trace.CloudCall{Call: "CreateRoute", Node: r.Node, Route: r.CIDR}, nodeRef(r.Node), soon(routeTakes), func() (string, error) {
		switch {
		case c.Instance(r.Node) == nil:
			return "", cloudprovider.ErrNoInstance
		case c.full:
			return "", errFull
		}
		if !c.Routed(r.Node, r.CIDR) {
			c.routes = slices.DeleteFunc(slices.Clone(c.routes), func(o cloudprovider.Route) bool { return o.CIDR == r.CIDR })
			c.routes = append(c.routes, cloudprovider.Route{Name: "kubernetes-" + hint, Node: r.Node, CIDR: r.CIDR})
		}
		return r.CIDR + " leads to " + r.Node, nil
	})
}

// DeleteRoute takes a route away (DeleteRoute).
func (c *Cloud) DeleteRoute(t *sim.Task, r cloudprovider.Route) error {
	return c.call(t, trace.CloudCall{Call: "DeleteRoute", Node: r.Node, Route: r.CIDR}, nodeRef(r.Node), soon(routeTakes), func() (string, error) {
		c.routes = slices.DeleteFunc(slices.Clone(c.routes), func(o cloudprovider.Route) bool { return o == r })
		return r.CIDR + " leads nowhere", nil
	})
}

// nodeRef is the node that a route leads to, if it leads to one.
func nodeRef(name string) trace.Ref {
	if name == "" {
		return trace.Ref{}
	}
	return trace.Ref{APIVersion: "v1", Kind: "Node", Name: name}
}
