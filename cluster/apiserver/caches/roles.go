package caches

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
)

// Roles are the live objects that the authorizers go by ([authz.Source]).
type Roles struct{ *Caches }

// ClusterRoleBindings are all there are.
func (r Roles) ClusterRoleBindings() []*rbacv1.ClusterRoleBinding {
	return objects[*rbacv1.ClusterRoleBinding](r.OfResource(client.ClusterRoleBindings), "")
}

// RoleBindings are those of a namespace.
func (r Roles) RoleBindings(namespace string) []*rbacv1.RoleBinding {
	return objects[*rbacv1.RoleBinding](r.OfResource(client.RoleBindings), namespace)
}

// ClusterRole is nil where there is none of the name.
func (r Roles) ClusterRole(name string) *rbacv1.ClusterRole {
	role, _ := r.OfResource(client.ClusterRoles).Taken(name).(*rbacv1.ClusterRole)
	return role
}

// Role is nil where there is none of the name.
func (r Roles) Role(namespace, name string) *rbacv1.Role {
	role, _ := r.OfResource(client.Roles).Taken(namespace + "/" + name).(*rbacv1.Role)
	return role
}

// Open has the watch cache of a kind filled that somebody has used.
func (r Roles) Open(res client.Resource) {
	if k := registry.KindFor(res.GroupVersionResource); r.InUse(k) {
		r.Of(k)
	}
}

func objects[T runtime.Object](c *cacher.Cache, namespace string) (all []T) {
	c.Scan(namespace, func(_ string, en *cacher.Entry) bool {
		all = append(all, en.Object.(T))
		return true
	})
	return all
}
