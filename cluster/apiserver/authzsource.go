package apiserver

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
)

// authzSource is the live objects that the authorizers go by, from the watch caches.
type authzSource struct{ s *Server }

func (p authzSource) cache(r client.Resource) *cacher.Cache {
	return p.s.caches[registry.KindFor(r.GroupVersionResource)]
}

func (p authzSource) ClusterRoleBindings() []*rbacv1.ClusterRoleBinding {
	var out []*rbacv1.ClusterRoleBinding
	p.cache(client.ClusterRoleBindings).Scan("", func(_ string, en *cacher.Entry) bool {
		out = append(out, en.Object.(*rbacv1.ClusterRoleBinding))
		return true
	})
	return out
}

func (p authzSource) RoleBindings(namespace string) []*rbacv1.RoleBinding {
	var out []*rbacv1.RoleBinding
	p.cache(client.RoleBindings).Scan(namespace, func(_ string, en *cacher.Entry) bool {
		out = append(out, en.Object.(*rbacv1.RoleBinding))
		return true
	})
	return out
}

func (p authzSource) ClusterRole(name string) *rbacv1.ClusterRole {
	role, _ := p.cache(client.ClusterRoles).Taken(name).(*rbacv1.ClusterRole)
	return role
}

func (p authzSource) Role(namespace, name string) *rbacv1.Role {
	role, _ := p.cache(client.Roles).Taken(namespace + "/" + name).(*rbacv1.Role)
	return role
}

// PodOn reports whether a pod of the node in the namespace is such a one.
func (p authzSource) PodOn(node, namespace string, such func(*corev1.Pod) bool) bool {
	found := false
	if namespace == "" {
		return false
	}
	p.cache(client.Pods).Scan(namespace, func(_ string, en *cacher.Entry) bool {
		pod := en.Object.(*corev1.Pod)
		found = pod.Spec.NodeName == node && such(pod)
		return !found
	})
	return found
}

// PersistentVolumes are there only once somebody has used the kind.
func (p authzSource) PersistentVolumes() []*corev1.PersistentVolume {
	var out []*corev1.PersistentVolume
	p.used(client.PersistentVolumes, func(en *cacher.Entry) { out = append(out, en.Object.(*corev1.PersistentVolume)) })
	return out
}

// VolumeAttachment is nil if there is none of the name.
func (p authzSource) VolumeAttachment(name string) (found *storagev1.VolumeAttachment) {
	p.used(client.VolumeAttachments, func(en *cacher.Entry) {
		if va := en.Object.(*storagev1.VolumeAttachment); va.Name == name {
			found = va
		}
	})
	return found
}

// used looks through a kind that may have been used by nobody, or of which the
// cache is empty yet.
func (p authzSource) used(r client.Resource, fn func(*cacher.Entry)) {
	k := registry.KindFor(r.GroupVersionResource)
	if !p.s.inUse(k) {
		return
	}
	p.s.cacheOf(k).Scan("", func(_ string, en *cacher.Entry) bool {
		fn(en)
		return true
	})
}
