package cluster

import (
	rbacv1 "k8s.io/api/rbac/v1"
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
		c.network.SetResolver(dns.Start(p, c.client(lane, authn.ServiceAccount("kube-system", "coredns"))))
	}).begin(c.k, t.Causes(), "")
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
