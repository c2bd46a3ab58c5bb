package cluster

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/bootstrap"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// applyAddons is kubeadm init phase addon: it makes what the add-ons need, where it
// is missing.
func applyAddons(t *sim.Task, servers *apiServers, pods clusterCIDR) error {
	installer := servers.client(t.Lane(), authn.Admin())
	now := metav1.NewTime(t.Now().Truncate(time.Second))
	for r, obj := range addonRights(slices.Contains(servers.components.without, trace.CompCCM)) {
		obj.GetObjectKind().SetGroupVersionKind(r.GVK())
		bootstrap.Created(obj, "kubeadm", now)
		namespace := ""
		if b, ok := obj.(*rbacv1.RoleBinding); ok {
			namespace = b.Namespace
		}
		if _, err := installer.Create(t, r, namespace, obj); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	for r, obj := range storageObjects() {
		obj.GetObjectKind().SetGroupVersionKind(r.GVK())
		bootstrap.Created(obj, "kubeadm", now)
		if _, err := installer.Create(t, r, "", obj); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	for _, cm := range addonConfigs(pods) {
		cm.SetGroupVersionKind(client.ConfigMaps.GVK())
		bootstrap.Created(cm, "kubeadm", now)
		if _, err := installer.Create(t, client.ConfigMaps, cm.Namespace, cm); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// applyAddonsWhenRoom applies them as soon as the store takes writes again: the cluster was
// started on one that is full.
func (c *Cluster) applyAddonsWhenRoom(t *sim.Task) {
	for t.Sleep(time.Second); ; t.Sleep(time.Second) {
		if err := applyAddons(t, c.servers, c.nodes.cidr); err == nil {
			return
		}
	}
}

// addonConfigs are the add-ons' configurations
// (cmd/kubeadm/app/phases/addons/{dns,proxy}). Nobody reads them here; each says so.
func addonConfigs(pods clusterCIDR) []*corev1.ConfigMap {
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
clusterCIDR: ` + pods.String() + `
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
func reinstall(t *sim.Task, components *components, nodes *nodes) error {
	if err := applyAddons(t, nodes.servers, nodes.cidr); err != nil {
		return err
	}
	again := []*component{components.find("dns")}
	for _, n := range nodes.list {
		again = append(again, n.proxy, n.kubelet)
	}
	for _, m := range again {
		if m != nil && m.up() {
			m.stop(t.Causes(), "installed again")
			m.begin(t.Causes(), "installed again")
		}
	}
	return nil
}

// addonRights are the RBAC objects of the add-ons: of CoreDNS
// (cmd/kubeadm/app/phases/addons/dns/manifests.go), and of cloud-controller-manager, which may be one from
// outside.
func addonRights(outside bool) func(func(client.Resource, runtime.Object) bool) {
	return func(yield func(client.Resource, runtime.Object) bool) {
		const name = "system:coredns"
		if !yield(client.ClusterRoles, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"endpoints", "services", "pods", "namespaces"}, Verbs: []string{"list", "watch"}},
			{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list", "watch"}},
		}}) {
			return
		}
		if !yield(client.ClusterRoleBindings, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "kube-system", Name: "coredns"}},
		}) {
			return
		}
		cloudRights(outside, yield)
	}
}

// cloudRights are the RBAC objects of cloud-controller-manager as a cloud's provider
// installs it
// (https://kubernetes.io/docs/tasks/administer-cluster/running-cloud-controller). One from outside
// does everything as one user, and asks the API server whom it may let in.
func cloudRights(outside bool, yield func(client.Resource, runtime.Object) bool) {
	const name = "system:cloud-controller-manager"
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch", "update"}},
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"*"}},
		{APIGroups: []string{""}, Resources: []string{"nodes/status"}, Verbs: []string{"patch"}},
		{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"list", "patch", "update", "watch"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create", "get", "list", "watch", "update"}},
	}}
	if outside {
		role.Rules = append(role.Rules,
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services/status"}, Verbs: []string{"patch", "update"}},
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{"create", "get"}},
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, Verbs: []string{"create"}})
	}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}}
	if !yield(client.ClusterRoles, role) || !yield(client.ClusterRoleBindings, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   subjects,
	}) {
		return
	}
	if outside {
		yield(client.RoleBindings, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name + ":apiserver-authentication-reader"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "extension-apiserver-authentication-reader"},
			Subjects:   subjects,
		})
	}
}
