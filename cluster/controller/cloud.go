package controller

import (
	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/servicelb"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "cloud-controller-manager takes part in the election for its Lease, and watches Services and nodes, from the first Service of type LoadBalancer on; in a cluster without one it waits, and costs nothing",
	Seen: "kubectl -n kube-system get leases; pane 5",
})

// CloudLease is the name of the Lease in kube-system that the active cloud-controller-manager
// holds, and the program's name.
const CloudLease = "cloud-controller-manager"

// Cloud is what the controllers of cloud-controller-manager ask the cloud for.
type Cloud struct {
	LoadBalancers servicelb.LoadBalancers
}

// StartCloud is Start of cloud-controller-manager: the controllers that act on the cloud
// which the machines are in (k8s.io/cloud-provider/app).
func StartCloud(p *sim.Process, c client.Interface, cfg Config, cloud Cloud) {
	p.Go("await", func(t *sim.Task) {
		client.AwaitBalanced(t, c)
		elect(p, c, cfg, CloudLease, func(*sim.Task) { run(p, c, cfg, CloudLease, ofCloud(cloud)) })
	})
}

// ofCloud are the controllers of cloud-controller-manager in the order in which they start
// (app.DefaultInitFuncConstructors).
func ofCloud(cloud Cloud) []descriptor {
	return []descriptor{
		of(servicelb.Name, servicelb.Source, func(e *reconcile.Env) *servicelb.Controller { return servicelb.New(e, cloud.LoadBalancers) }),
	}
}
