package apiserver

import "kviz/cluster/trace"

// audit is where Kubernetes writes its audit log (apiserver
// pkg/endpoints/filters/audit.go). The trace is kviz's audit log.
func audit(c *call) error {
	c.pass(trace.StageAudit, "", "The request is on record: every stage of it is in this trace.", nil)
	return nil
}

// queueFairly is API priority and fairness (apiserver
// pkg/server/filters/priority-and-fairness.go). It has seats for everyone
// here.
func queueFairly(c *call) error {
	c.pass(trace.StageFairness, flowSchema(c), "A seat is free, so the request does not queue.", nil)
	return nil
}

// flowSchema is the flow schema of a default cluster that the request matches.
func flowSchema(c *call) string {
	switch {
	case c.user.In("system:masters"):
		return "FlowSchema exempt"
	case c.req.Resource.Resource == "leases" && c.user.In("system:nodes"):
		return "FlowSchema system-node-high"
	case c.user.In("system:nodes"):
		return "FlowSchema system-nodes"
	case c.req.Resource.Resource == "leases" && c.req.Namespace == "kube-system":
		return "FlowSchema system-leader-election"
	case c.user.Name == "system:kube-scheduler":
		return "FlowSchema kube-scheduler"
	case c.user.Name == "system:kube-controller-manager":
		return "FlowSchema kube-controller-manager"
	case c.user.In("system:serviceaccounts:kube-system"):
		return "FlowSchema kube-system-service-accounts"
	case c.user.In("system:serviceaccounts"):
		return "FlowSchema service-accounts"
	case c.user.In("system:unauthenticated"):
		return "FlowSchema catch-all"
	}
	return "FlowSchema global-default"
}
