package cluster

import (
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/dns"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// startDNS installs the rights that kubeadm's CoreDNS add-on brings and starts
// cluster DNS.
func (c *Cluster) startDNS(t *sim.Task) {
	if err := c.applyAddons(t); err != nil {
		panic(err) // nothing else has touched the cluster yet
	}
	lane := trace.Lane{Component: trace.CompDNS}
	c.addComponent("dns", lane, func(p *sim.Process) {
		c.network.SetResolver(dns.Start(p, c.server.Client(lane, authn.ServiceAccount("kube-system", "coredns"))))
	}).begin(c.k, t.Causes(), "")
}

// applyAddons is kubeadm init phase addon: it makes what the add-ons need, where it
// is missing.
func (c *Cluster) applyAddons(t *sim.Task) error {
	installer := c.server.Client(t.Lane(), authn.Admin())
	for r, obj := range corednsRights() {
		if _, err := installer.Create(t, r, "", obj); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
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

// corednsRights are the RBAC objects of the CoreDNS add-on
// (cmd/kubeadm/app/phases/addons/dns/manifests.go).
func corednsRights() func(func(client.Resource, runtime.Object) bool) {
	return func(yield func(client.Resource, runtime.Object) bool) {
		const name = "system:coredns"
		if !yield(client.ClusterRoles, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"endpoints", "services", "pods", "namespaces"}, Verbs: []string{"list", "watch"}},
			{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list", "watch"}},
		}}) {
			return
		}
		yield(client.ClusterRoleBindings, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "kube-system", Name: "coredns"}},
		})
	}
}
