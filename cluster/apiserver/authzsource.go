package apiserver

import (
	rbacv1 "k8s.io/api/rbac/v1"

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

// Open has the watch cache of a kind filled that somebody has used.
func (p authzSource) Open(r client.Resource) {
	if k := registry.KindFor(r.GroupVersionResource); p.s.InUse(k) {
		p.s.cacheOf(k)
	}
}
