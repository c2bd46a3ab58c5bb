package cluster

import (
	"time"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/client/throttle"
	"kviz/cluster/cloud"
	"kviz/cluster/controller"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/network"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// cloudManager is cloud-controller-manager as faults see it, and the cloud that it acts on.
type cloudManager struct {
	cloud    *cloud.Cloud
	each     *controller.Controllers
	slow     sim.Delay // how much longer each run of its controllers takes
	external bool      // kubelets have --cloud-provider=external
}

func newCloudManager(k *sim.Kernel, net *network.Network, cfg Config) *cloudManager {
	m := &cloudManager{cloud: cloud.New(k, net), each: controller.NewControllers(), external: cfg.External}
	net.SetBalancers(m.cloud)
	if cfg.External && !cfg.without(trace.CompCCM) { // a program from outside knows another cloud
		net.SetRoutes(m.cloud)
	}
	return m
}

// startCloudControllerManager starts cloud-controller-manager, beside the others of the control plane.
func startCloudControllerManager(t *sim.Task, components *components, servers *apiServers, slow queueDelays, managed *cloudManager, pods clusterCIDR, limits throttle.Limits) {
	of := controller.Cloud{LoadBalancers: managed.cloud}
	if managed.external {
		of.Instances, of.Routes, of.Pods = managed.cloud, managed.cloud, pods.Prefix
	}
	lane := trace.Lane{Component: trace.CompCCM}
	manager := components.add(trace.CompCCM, lane, nil)
	manager.start = func(p *sim.Process) {
		controller.StartCloud(p, servers.client(lane, authn.Component(controller.CloudLease)), controller.Config{
			Around: func(queue string, sync reconcile.Sync) reconcile.Sync {
				return slow.around(queue, managed.around(sync))
			}, Controllers: managed.each, Limits: limits, Exit: manager.exit,
			ClientFor: func(name string) client.Interface {
				return servers.client(trace.Lane{Component: name}, authn.ServiceAccount("kube-system", serviceAccount(name)))
			},
		}, of)
	}
	manager.begin(t.Causes(), "")
}

func (m *cloudManager) around(sync reconcile.Sync) reconcile.Sync {
	return func(r *reconcile.Run) error {
		m.slow.Pass(r.T)
		return sync(r)
	}
}

// managerTarget is cloud-controller-manager.
type managerTarget struct {
	process
	of *cloudManager
}

// Slow has each run of each of its controllers take so much longer; 0 undoes it.
func (t managerTarget) Slow(d time.Duration, _ []trace.ID) error {
	t.of.slow.Set(d)
	return nil
}

// cloudTarget is the API of the cloud.
type cloudTarget struct{ cloud *cloud.Cloud }

func (t cloudTarget) Reachable(yes bool, _ []trace.ID) error {
	t.cloud.Reachable(yes)
	return nil
}

// Full has the table of routes take no more.
func (t cloudTarget) Full(yes bool, _ []trace.ID) error {
	t.cloud.FillRoutes(yes)
	return nil
}

func (t cloudTarget) Slow(d time.Duration, _ []trace.ID) error {
	t.cloud.Slow(d)
	return nil
}
