package controller

import (
	"net/netip"

	"kviz/cluster/client"
	"kviz/cluster/controller/cloudnode"
	"kviz/cluster/controller/cloudnodelifecycle"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/route"
	"kviz/cluster/controller/servicelb"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "without --cloud-provider external cloud-controller-manager has the service controller alone, takes part in the election for its Lease, and watches Services and nodes, from the first Service of type LoadBalancer on; in a cluster without one it waits, and costs nothing",
	Seen: "kubectl -n kube-system get leases; pane 5",
})

// CloudLease is the name of the Lease in kube-system that the active cloud-controller-manager
// holds, and the program's name.
const CloudLease = "cloud-controller-manager"

// Cloud is what the controllers of cloud-controller-manager ask the cloud for.
type Cloud struct {
	LoadBalancers servicelb.LoadBalancers
	// Instances and Routes are nil where no kubelet has --cloud-provider=external: only the service
	// controller runs then, as with --controllers=service-lb-controller.
	Instances Instances
	Routes    route.Routes
	Pods      netip.Prefix // --cluster-cidr
}

// Instances are the cloud's machines.
type Instances interface {
	cloudnode.Instances
	cloudnodelifecycle.Instances
}

// StartCloud is Start of cloud-controller-manager: the controllers that act on the cloud
// which the machines are in (k8s.io/cloud-provider/app).
func StartCloud(p *sim.Process, c client.Interface, cfg Config, cloud Cloud) {
	p.Go("await", func(t *sim.Task) {
		if cloud.Instances == nil {
			client.AwaitBalanced(t, c)
		}
		elect(p, c, cfg, CloudLease, func(*sim.Task) { run(p, c, cfg, CloudLease, ofCloud(cloud)) })
	})
}

// CloudNames are the controllers of cloud-controller-manager.
func CloudNames() []string {
	return []string{cloudnode.Name, cloudnodelifecycle.Name, servicelb.Name, route.Name}
}

// ofCloud are the controllers of cloud-controller-manager in the order in which they start
// (app.DefaultInitFuncConstructors).
func ofCloud(cloud Cloud) []descriptor {
	balancers := of(servicelb.Name, servicelb.Source, func(e *reconcile.Env) *servicelb.Controller { return servicelb.New(e, cloud.LoadBalancers) })
	if cloud.Instances == nil {
		return []descriptor{balancers}
	}
	return []descriptor{
		of(cloudnode.Name, cloudnode.Source, func(e *reconcile.Env) *cloudnode.Controller { return cloudnode.New(e, cloud.Instances) }),
		of(cloudnodelifecycle.Name, cloudnodelifecycle.Source, func(e *reconcile.Env) *cloudnodelifecycle.Controller {
			return cloudnodelifecycle.New(e, cloud.Instances)
		}),
		balancers,
		of(route.Name, route.Source, func(e *reconcile.Env) *route.Controller { return route.New(e, cloud.Routes, cloud.Pods) }),
	}
}
