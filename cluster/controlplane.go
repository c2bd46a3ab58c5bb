package cluster

import (
	"kviz/assets"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/client/throttle"
	"kviz/cluster/controller"
	"kviz/cluster/controller/attachdetach"
	"kviz/cluster/controller/bootstrap"
	"kviz/cluster/controller/certificates"
	"kviz/cluster/controller/cloudnode"
	"kviz/cluster/controller/cloudnodelifecycle"
	"kviz/cluster/controller/clustertrustbundlepublisher"
	"kviz/cluster/controller/daemonset"
	"kviz/cluster/controller/endpoint"
	"kviz/cluster/controller/endpointslicemirroring"
	"kviz/cluster/controller/expand"
	"kviz/cluster/controller/horizontalpodautoscaler"
	"kviz/cluster/controller/legacytoken"
	"kviz/cluster/controller/nodeipam"
	"kviz/cluster/controller/persistentvolume"
	"kviz/cluster/controller/policystatus"
	"kviz/cluster/controller/replicaset"
	"kviz/cluster/controller/resourceclaim"
	"kviz/cluster/controller/route"
	"kviz/cluster/controller/serviceaccounttoken"
	"kviz/cluster/controller/servicecidr"
	"kviz/cluster/controller/servicelb"
	"kviz/cluster/controller/storageprotection"
	"kviz/cluster/dns"
	"kviz/cluster/network"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// startControllerManager starts kube-controller-manager, the runs of whose queues a fault
// can make slower, and whose controllers it can end one by one.
func startControllerManager(t *sim.Task, components *components, servers *apiServers, slow queueDelays, each *controller.Controllers, pods clusterCIDR, limits throttle.Limits) {
	lane := trace.Lane{Component: trace.CompKCM}
	manager := components.add("controller-manager", lane, nil)
	manager.start = func(p *sim.Process) {
		authority := servers.first.Authenticators().Authority
		controller.Start(p, servers.client(lane, authn.Component("kube-controller-manager")), controller.Config{
			RootCA: authority.PEM(), Sign: authority.Sign, SignToken: servers.first.OpenID().Keys.SignSecret,
			CheckTypes: policystatus.NewChecker(assets.Documents()).Check,
			PodRanges:  nodeipam.Config{Cluster: pods.Prefix, Mask: nodeMask, First: firstPods},
			Around:     slow.around, Controllers: each, Limits: limits, Exit: manager.exit,
			// Each controller has a ServiceAccount of its own, with the rights of its
			// bootstrap role (kube-controller-manager --use-service-account-credentials).
			ClientFor: func(name string) client.Interface {
				if name == serviceaccounttoken.Name { // it makes the others' tokens, upstream
					return servers.client(trace.Lane{Component: name}, authn.Component("kube-controller-manager"))
				}
				return servers.client(trace.Lane{Component: name}, authn.ServiceAccount("kube-system", serviceAccount(name)))
			},
		})
	}
	manager.begin(t.Causes(), "")
}

// startDNS starts cluster DNS, which resolves names for the network.
func startDNS(t *sim.Task, components *components, servers *apiServers, network *network.Network) {
	lane := trace.Lane{Component: trace.CompDNS}
	components.add("dns", lane, func(p *sim.Process) {
		network.SetResolver(dns.Start(p, servers.client(lane, authn.ServiceAccount("kube-system", "coredns"))))
	}).begin(t.Causes(), "")
}

// serviceAccount is the ServiceAccount of a controller in kube-system; most have
// the controller's name (plugin/pkg/auth/authorizer/rbac/bootstrappolicy
// controller_policy.go; cmd/kube-controller-manager ClientOrDie).
func serviceAccount(controller string) string {
	switch controller {
	case "serviceaccount-controller":
		return "service-account-controller"
	case daemonset.Name:
		return daemonset.Account
	case attachdetach.Name:
		return attachdetach.Source
	case horizontalpodautoscaler.Name:
		return horizontalpodautoscaler.Account
	case "root-ca-certificate-publisher-controller":
		return "root-ca-cert-publisher"
	case clustertrustbundlepublisher.Name:
		return clustertrustbundlepublisher.Account
	case "garbage-collector-controller":
		return "generic-garbage-collector"
	case endpoint.Name:
		return endpoint.Source
	case endpointslicemirroring.Name:
		return "endpointslicemirroring-controller"
	case "pod-garbage-collector-controller":
		return "pod-garbage-collector"
	case replicaset.ReplicationName:
		return replicaset.ReplicationSource
	case certificates.PodCleaner:
		return certificates.PodCleanerAccount
	case certificates.Approving, certificates.Signing, certificates.Cleaner:
		return "certificate-controller"
	case persistentvolume.Name:
		return persistentvolume.Account
	case expand.Name:
		return expand.Account
	case bootstrap.CleanerName:
		return bootstrap.CleanerAccount
	case bootstrap.SignerName:
		return bootstrap.SignerAccount
	case legacytoken.Name:
		return legacytoken.Account
	case resourceclaim.Name:
		return resourceclaim.Account
	case servicecidr.Name:
		return servicecidr.Account
	case storageprotection.ClaimsName:
		return "pvc-protection-controller"
	case storageprotection.VolumesName:
		return "pv-protection-controller"
	case "node-lifecycle-controller", "taint-eviction-controller", nodeipam.Name, cloudnode.Name, cloudnodelifecycle.Name:
		return "node-controller"
	case servicelb.Name:
		return servicelb.Source
	case route.Name:
		return route.Account
	}
	return controller
}
