package cluster

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/csi"
	"kviz/cluster/csi/attacher"
	"kviz/cluster/csi/provisioner"
	"kviz/cluster/csi/resizer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// sidecars are the programs beside the storage driver that follow the API for it. They are
// processes of their own, as the containers of the driver's controller pod are.
type sidecars struct {
	slow map[string]*sim.Delay // by name: how much longer each run takes
}

func newSidecars() *sidecars {
	s := &sidecars{slow: map[string]*sim.Delay{}}
	for _, name := range []string{provisioner.Name, attacher.Name, resizer.Name} {
		s.slow[name] = &sim.Delay{}
	}
	return s
}

// start starts them. Each waits until there is something to do.
func (s *sidecars) start(t *sim.Task, components *components, servers *apiServers, driver *csi.Service, slow queueDelays) {
	for _, sidecar := range []struct {
		name  string
		start func(*sim.Process, client.Interface, func(string, reconcile.Sync) reconcile.Sync)
	}{
		{provisioner.Name, func(p *sim.Process, c client.Interface, around func(string, reconcile.Sync) reconcile.Sync) {
			provisioner.Start(p, c, driver, around)
		}},
		{attacher.Name, func(p *sim.Process, c client.Interface, around func(string, reconcile.Sync) reconcile.Sync) {
			attacher.Start(p, c, driver, around)
		}},
		{resizer.Name, func(p *sim.Process, c client.Interface, around func(string, reconcile.Sync) reconcile.Sync) {
			resizer.Start(p, c, driver, around)
		}},
	} {
		lane := trace.Lane{Component: sidecar.name}
		around := func(queue string, sync reconcile.Sync) reconcile.Sync {
			return slow.around(queue, func(run *reconcile.Run) error {
				s.slow[sidecar.name].Pass(run.T)
				return sync(run)
			})
		}
		components.add(sidecar.name, lane, func(p *sim.Process) {
			sidecar.start(p, servers.client(lane, authn.ServiceAccount(metav1.NamespaceSystem, sidecar.name)), around)
		}).begin(t.Causes(), "")
	}
}

// storageObjects are what is installed with the driver: its CSIDriver, two classes, and the
// rights of its sidecars (deploy/kubernetes/rbac.yaml of external-provisioner,
// external-attacher and external-resizer).
func storageObjects() func(func(client.Resource, runtime.Object) bool) {
	return func(yield func(client.Resource, runtime.Object) bool) {
		yes, no := true, false
		remove, waits, atOnce := corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
		fsGroup := storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy
		if !yield(client.CSIDrivers, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: csi.Name}, Spec: storagev1.CSIDriverSpec{
			AttachRequired: &yes, PodInfoOnMount: &no, FSGroupPolicy: &fsGroup, VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent},
		}}) {
			return
		}
		for _, class := range []*storagev1.StorageClass{
			{ObjectMeta: metav1.ObjectMeta{Name: "standard", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}}, VolumeBindingMode: &waits},
			{ObjectMeta: metav1.ObjectMeta{Name: "immediate"}, VolumeBindingMode: &atOnce},
		} {
			class.Provisioner, class.ReclaimPolicy, class.AllowVolumeExpansion = csi.Name, &remove, &yes
			if !yield(client.StorageClasses, class) {
				return
			}
		}
		const storage = "storage.k8s.io"
		rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
			return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
		}
		events := rule("", "events", "list", "watch", "create", "update", "patch")
		for _, role := range []struct {
			account, name string
			rules         []rbacv1.PolicyRule
		}{
			{provisioner.Name, "external-provisioner-runner", []rbacv1.PolicyRule{
				rule("", "persistentvolumes", "get", "list", "watch", "create", "update", "patch", "delete"),
				rule("", "persistentvolumeclaims", "get", "list", "watch", "update"),
				rule(storage, "storageclasses", "get", "list", "watch"),
				rule(storage, "volumeattachments", "get", "list", "watch"),
				rule("", "nodes", "get", "list", "watch"), events,
			}},
			{attacher.Name, "external-attacher-runner", []rbacv1.PolicyRule{
				rule("", "persistentvolumes", "get", "list", "watch", "patch"),
				rule(storage, "csinodes", "get", "list", "watch"),
				rule(storage, "volumeattachments", "get", "list", "watch", "patch"),
				rule(storage, "volumeattachments/status", "patch"), events,
			}},
			{resizer.Name, "external-resizer-runner", []rbacv1.PolicyRule{
				rule("", "persistentvolumes", "get", "list", "watch", "patch"),
				rule("", "persistentvolumeclaims", "get", "list", "watch"),
				rule("", "persistentvolumeclaims/status", "update", "patch"), events,
			}},
		} {
			if !yield(client.ClusterRoles, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role.name}, Rules: role.rules}) ||
				!yield(client.ClusterRoleBindings, &rbacv1.ClusterRoleBinding{
					ObjectMeta: metav1.ObjectMeta{Name: role.account + "-role"},
					RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.name},
					Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceSystem, Name: role.account}},
				}) {
				return
			}
		}
	}
}
