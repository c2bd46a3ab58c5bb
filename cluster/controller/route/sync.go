package route

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	netutils "k8s.io/utils/net"

	"kviz/cluster/client"
	"kviz/cluster/controller/cloudprovider"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// most is how many calls for routes are under way at a time (maxConcurrentRouteOperations).
const most = 200

// wanted is a route that a node needs: it is there, or has to be made.
type wanted struct {
	node  *corev1.Node
	cidr  string
	there bool
}

// sync brings the cloud's table in line with the nodes (reconcileNodeRoutes).
func (c *Controller) sync(run *reconcile.Run) error {
	routes, err := c.routes.ListRoutes(run.T)
	if err != nil {
		run.Waits("The cloud does not say which routes there are: none is made or deleted, and it is asked again in %v", Period)
		return fmt.Errorf("error listing routes: %w", err)
	}
	var nodes []*corev1.Node
	for _, obj := range c.nodes.List() {
		nodes = append(nodes, obj.(*corev1.Node))
	}
	run.Look(len(nodes) + len(routes))
	c.reconcile(run, nodes, routes)
	return nil
}

// reconcile deletes routes that lead astray, makes those that are missing, and says of each
// node whether its pods can be reached.
func (c *Controller) reconcile(run *reconcile.Run, nodes []*corev1.Node, routes []cloudprovider.Route) {
	all, byNode := c.wants(nodes, routes)
	var gone []cloudprovider.Route
	for _, r := range routes {
		if c.responsible(r) && (r.Blackhole || !slices.ContainsFunc(byNode[r.Node], func(w *wanted) bool { return w.cidr == r.CIDR })) {
			gone = append(gone, r)
		}
	}
	var missing []*wanted
	for _, w := range all {
		if !w.there {
			missing = append(missing, w)
		}
	}
	// Upstream has a goroutine for each; so many call the cloud at a time.
	stay := make([]error, len(gone))
	each(c, run, "route", len(gone)+len(missing), func(run *reconcile.Run, i int) {
		if i < len(gone) {
			stay[i] = c.remove(run, gone[i])
		} else {
			c.create(run, missing[i-len(gone)])
		}
	})
	c.conditions(run, nodes, routes, byNode)
	for i, err := range stay {
		if err != nil {
			run.Waits("The route %s could not be deleted (%v): it is tried again in %v", gone[i].CIDR, err, Period)
		}
	}
}

// each calls do n times, so many at a time.
func each(c *Controller, run *reconcile.Run, what string, n int, do func(run *reconcile.Run, i int)) {
	if n == 0 {
		return
	}
	workers := min(n, most)
	c.Parallel(run.T, what, workers, func(t *sim.Task, at int) {
		mine := run.In(t)
		for i := at; i < n; i += workers {
			do(mine, i)
		}
	})
}

// wants are the routes that the nodes need, in the order of the nodes, and the same by node.
func (c *Controller) wants(nodes []*corev1.Node, routes []cloudprovider.Route) (all []*wanted, byNode map[string][]*wanted) {
	there := make(map[[2]string]bool, len(routes))
	for _, r := range routes {
		if r.Node != "" {
			there[[2]string{r.Node, r.CIDR}] = true
		}
	}
	byNode = map[string][]*wanted{}
	for _, n := range nodes {
		for _, cidr := range n.Spec.PodCIDRs {
			w := &wanted{n, cidr, there[[2]string{n.Name, cidr}]}
			all, byNode[n.Name] = append(all, w), append(byNode[n.Name], w)
		}
	}
	return all, byNode
}

// responsible reports whether a route is one of the cluster's (isResponsibleForRoute).
func (c *Controller) responsible(r cloudprovider.Route) bool {
	_, ipnet, err := netutils.ParseCIDRSloppy(r.CIDR)
	if err != nil {
		return false
	}
	last := slices.Clone(ipnet.IP)
	for i := range last {
		last[i] |= ^ipnet.Mask[i]
	}
	within := func(ip []byte) bool {
		a, ok := netip.AddrFromSlice(ip)
		return ok && c.cluster.Contains(a.Unmap())
	}
	return within(ipnet.IP) || within(last)
}

// remove deletes a route; what fails, the next look tries again.
func (c *Controller) remove(run *reconcile.Run, r cloudprovider.Route) error {
	why := fmt.Sprintf("leads to %s, which has no such addresses", r.Node)
	if r.Blackhole || r.Node == "" {
		why = "leads to an instance that is gone"
	}
	target := trace.Ref{}
	if r.Node != "" {
		target = client.Nodes.Ref("", r.Node)
	}
	run.Act("delete", target, 0, 1, "The route %s %s: have the cloud delete it", r.CIDR, why)
	return c.routes.DeleteRoute(run.T, r)
}

// conditionTries are the waits between tries of what meets a conflict (updateNetworkConditionBackoff).
var conditionTries = slices.Repeat([]time.Duration{100 * time.Millisecond}, 4)

// create makes a route.
func (c *Controller) create(run *reconcile.Run, w *wanted) {
	run.Act("create", client.RefOf(w.node), 1, 0, "The pods of node %s have the addresses %s, and no route leads there: have the cloud make one", w.node.Name, w.cidr)
	_ = reconcile.OnConflict(run.T, conditionTries, func() error {
		began := run.T.Elapsed()
		err := c.routes.CreateRoute(run.T, string(w.node.UID), cloudprovider.Route{Node: w.node.Name, CIDR: w.cidr})
		if err != nil {
			c.Events.Event(run.T, w.node, corev1.EventTypeWarning, "FailedToCreateRoute", "Could not create route %s %s for node %s after %v: %v",
				w.node.UID, w.cidr, w.node.Name, run.T.Elapsed()-began, err)
			return err
		}
		w.there = true
		return nil
	})
}

// conditions says of each node whether routes lead to all of its pods. Those that do not are in
// the run's wait.
func (c *Controller) conditions(run *reconcile.Run, nodes []*corev1.Node, routes []cloudprovider.Route, byNode map[string][]*wanted) {
	var told []*corev1.Node
	var lack []string
	for _, n := range nodes {
		// Of a node that has no addresses for pods something is said only while a route leads there.
		if len(byNode[n.Name]) == 0 && !slices.ContainsFunc(routes, func(r cloudprovider.Route) bool { return r.Node == n.Name }) {
			continue
		}
		told = append(told, n)
		for _, w := range byNode[n.Name] {
			if !w.there {
				lack = append(lack, fmt.Sprintf("%s (%s)", n.Name, w.cidr))
			}
		}
	}
	if len(lack) > 0 {
		run.Waits("%s to %s: the cloud is asked again in %v", counted(len(lack)), shortened(lack), Period)
	}
	each(c, run, "condition", len(told), func(run *reconcile.Run, i int) {
		wants := byNode[told[i].Name]
		routed := len(wants) > 0 && !slices.ContainsFunc(wants, func(w *wanted) bool { return !w.there })
		_ = c.condition(run, told[i], routed) // the next look tries again
	})
}

func counted(n int) string {
	if n == 1 {
		return "1 route is missing,"
	}
	return fmt.Sprintf("%d routes are missing,", n)
}

// shortened names the first of many.
func shortened(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// condition writes NetworkUnavailable where it is not so already (updateNetworkingCondition).
func (c *Controller) condition(run *reconcile.Run, node *corev1.Node, routed bool) error {
	want := corev1.NodeCondition{
		Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: "RouteCreated", Message: "RouteController created a route",
	}
	why := "a route leads to its pods"
	if !routed {
		want.Status, want.Reason, want.Message = corev1.ConditionTrue, "NoRouteCreated", "RouteController failed to create a route"
		why = "no route leads to its pods"
	}
	was := "nothing"
	for _, cond := range node.Status.Conditions {
		if cond.Type == want.Type {
			if cond.Status == want.Status && cond.Reason == want.Reason {
				return nil
			}
			was = string(cond.Status)
		}
	}
	run.Act("patch", client.RefOf(node), want.Status, was, "Node %s: %s, and its condition NetworkUnavailable says %s: write %s", node.Name, why, was, want.Status)
	return reconcile.OnConflict(run.T, conditionTries, func() error {
		want.LastTransitionTime, want.LastHeartbeatTime = client.Now(run.T), client.Now(run.T)
		patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []corev1.NodeCondition{want}}})
		if err != nil {
			return err
		}
		_, err = c.Client.Patch(run.T, client.Nodes, "", node.Name, types.StrategicMergePatchType, patch, "status")
		return err
	})
}
