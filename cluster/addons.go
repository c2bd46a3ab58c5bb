package cluster

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// applyAddons is kubeadm init phase addon: it makes what the add-ons need, where it
// is missing.
func (c *Cluster) applyAddons(t *sim.Task) error {
	installer := c.client(t.Lane(), authn.Admin())
	for r, obj := range corednsRights() {
		if _, err := installer.Create(t, r, "", obj); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	for _, cm := range c.addonConfigs() {
		if _, err := installer.Create(t, client.ConfigMaps, cm.Namespace, cm); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// addonConfigs are the add-ons' configurations
// (cmd/kubeadm/app/phases/addons/{dns,proxy}). Nobody reads them here; each says so.
func (c *Cluster) addonConfigs() []*corev1.ConfigMap {
	return []*corev1.ConfigMap{
		{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "coredns"},
			Data: map[string]string{"Corefile": `# In this cluster name lookup stands in for CoreDNS, which would read this file.
.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30
    loop
    reload
    loadbalance
}
`},
		},
		{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "kube-proxy", Labels: map[string]string{"app": "kube-proxy"}},
			Data: map[string]string{"config.conf": `# In this cluster kube-proxy is a process of each node, started as this file says, which it does not read.
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
bindAddress: 0.0.0.0
clusterCIDR: ` + c.clusterCIDR().String() + `
healthzBindAddress: ""
metricsBindAddress: ""
mode: iptables
iptables:
  masqueradeAll: false
  minSyncPeriod: 1s
  syncPeriod: 30s
`},
		},
	}
}

// reinstall makes a cluster usable again whose API was emptied. Nobody does that
// by itself: kubeadm applied its add-ons once, and a kubelet registers its node
// only when it starts (pkg/kubelet kubelet_node_status.go registerWithAPIServer).
// A kubelet that starts ends the containers of pods that the API does not know.
func (c *Cluster) reinstall(t *sim.Task) error {
	if err := c.applyAddons(t); err != nil {
		return err
	}
	again := []*component{c.component("dns")}
	for _, n := range c.nodes {
		again = append(again, n.proxy, n.kubelet)
	}
	for _, m := range again {
		if m != nil && m.up() {
			m.stop(c.k, t.Causes(), "installed again")
			m.begin(c.k, t.Causes(), "installed again")
		}
	}
	return nil
}
