package apiserver

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"kviz/cluster/client"
)

// policy is the live RBAC objects, from the watch caches.
type policy struct{ s *Server }

func (p policy) cache(r client.Resource) *cache { return p.s.caches[KindFor(r.GroupVersionResource)] }

func (p policy) ClusterRoleBindings() []*rbacv1.ClusterRoleBinding {
	var out []*rbacv1.ClusterRoleBinding
	p.cache(client.ClusterRoleBindings).scan("", func(_ string, en *entry) bool {
		out = append(out, en.obj.(*rbacv1.ClusterRoleBinding))
		return true
	})
	return out
}

func (p policy) RoleBindings(namespace string) []*rbacv1.RoleBinding {
	var out []*rbacv1.RoleBinding
	p.cache(client.RoleBindings).scan(namespace, func(_ string, en *entry) bool {
		out = append(out, en.obj.(*rbacv1.RoleBinding))
		return true
	})
	return out
}

func (p policy) ClusterRole(name string) *rbacv1.ClusterRole {
	en, ok := p.cache(client.ClusterRoles).items.Get(name)
	if !ok {
		return nil
	}
	return en.obj.(*rbacv1.ClusterRole)
}

func (p policy) Role(namespace, name string) *rbacv1.Role {
	en, ok := p.cache(client.Roles).items.Get(namespace + "/" + name)
	if !ok {
		return nil
	}
	return en.obj.(*rbacv1.Role)
}
