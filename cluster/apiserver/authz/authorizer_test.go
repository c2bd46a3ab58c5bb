package authz

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
	"pgregory.net/rapid"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/raftstore/steady"
)

// objects are a [Source].
type objects struct {
	clusterBindings []*rbacv1.ClusterRoleBinding
	bindings        []*rbacv1.RoleBinding
	clusterRoles    []*rbacv1.ClusterRole
	roles           []*rbacv1.Role
}

func (o *objects) ClusterRoleBindings() []*rbacv1.ClusterRoleBinding { return o.clusterBindings }

func (o *objects) RoleBindings(namespace string) (out []*rbacv1.RoleBinding) {
	for _, b := range o.bindings {
		if b.Namespace == namespace {
			out = append(out, b)
		}
	}
	return out
}

func (o *objects) ClusterRole(name string) *rbacv1.ClusterRole {
	if i := slices.IndexFunc(o.clusterRoles, func(r *rbacv1.ClusterRole) bool { return r.Name == name }); i >= 0 {
		return o.clusterRoles[i]
	}
	return nil
}

func (o *objects) Role(namespace, name string) *rbacv1.Role {
	if i := slices.IndexFunc(o.roles, func(r *rbacv1.Role) bool { return r.Namespace == namespace && r.Name == name }); i >= 0 {
		return o.roles[i]
	}
	return nil
}

func (*objects) Open(client.Resource) {}

func drawObjects(t *rapid.T) *objects {
	o := &objects{}
	name := rapid.SampledFrom([]string{"view", "edit", `odd "name"`, "missing"})
	namespace := rapid.SampledFrom([]string{"demo", "prod"})
	rules := rapid.Custom(func(t *rapid.T) (out []rbacv1.PolicyRule) {
		for range rapid.IntRange(0, 3).Draw(t, "rules") {
			out = append(out, rbacv1.PolicyRule{
				Verbs:     []string{rapid.SampledFrom([]string{"get", "create", "*"}).Draw(t, "verb")},
				APIGroups: []string{rapid.SampledFrom([]string{"", "apps", "*"}).Draw(t, "group")},
				Resources: []string{rapid.SampledFrom([]string{"pods", "pods/log", "*/log", "*"}).Draw(t, "resource")},
			})
			if rapid.Bool().Draw(t, "named") {
				out[len(out)-1].ResourceNames = []string{"web"}
			}
		}
		return append(out, rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz/*"}})
	})
	subjects := rapid.SliceOfN(rapid.SampledFrom([]rbacv1.Subject{
		{Kind: "User", Name: "jane"}, {Kind: "Group", Name: "dev"}, {Kind: "ServiceAccount", Name: "bot"}, {Kind: "ServiceAccount", Name: "bot", Namespace: "prod"},
	}), 1, 3)
	ref := rapid.Custom(func(t *rapid.T) rbacv1.RoleRef {
		return rbacv1.RoleRef{Kind: rapid.SampledFrom([]string{"ClusterRole", "Role"}).Draw(t, "kind"), Name: name.Draw(t, "role")}
	})
	for _, n := range []string{"view", "edit", `odd "name"`} {
		r := &rbacv1.ClusterRole{Rules: rules.Draw(t, "rules")}
		r.Name = n
		o.clusterRoles = append(o.clusterRoles, r)
		in := &rbacv1.Role{Rules: rules.Draw(t, "rules")}
		in.Name, in.Namespace = n, namespace.Draw(t, "namespace")
		o.roles = append(o.roles, in)
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "bindings") {
		all := &rbacv1.ClusterRoleBinding{Subjects: subjects.Draw(t, "subjects"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: name.Draw(t, "role")}}
		all.Name = fmt.Sprintf("%d-%s", i, name.Draw(t, "name"))
		in := &rbacv1.RoleBinding{Subjects: subjects.Draw(t, "subjects"), RoleRef: ref.Draw(t, "ref")}
		in.Name, in.Namespace = all.Name, namespace.Draw(t, "namespace")
		o.clusterBindings, o.bindings = append(o.clusterBindings, all), append(o.bindings, in)
	}
	return o
}

func drawAttributes(t *rapid.T) Attributes {
	a := Attributes{
		User: rapid.SampledFrom([]authn.User{{Name: "jane"}, {Name: "joe", Groups: []string{"dev"}}, authn.ServiceAccount("prod", "bot"), {Name: "nobody"}}).Draw(t, "user"),
		Verb: rapid.SampledFrom([]string{"get", "create", "delete"}).Draw(t, "verb"),
	}
	if rapid.Bool().Draw(t, "path") {
		a.Path = rapid.SampledFrom([]string{"/healthz/etcd", "/metrics"}).Draw(t, "path")
		return a
	}
	a.Group, a.Resource = rapid.SampledFrom([]string{"", "apps"}).Draw(t, "group"), "pods"
	a.Subresource = rapid.SampledFrom([]string{"", "log"}).Draw(t, "subresource")
	a.Namespace = rapid.SampledFrom([]string{"", "demo", "prod"}).Draw(t, "namespace")
	a.Name = rapid.SampledFrom([]string{"", "web"}).Draw(t, "name")
	return a
}

// TestRememberedGrantsAreUpstreams compares what is decided by the rules that are
// remembered with what upstream's authorizer decides, which remembers nothing.
func TestRememberedGrantsAreUpstreams(t *testing.T) {
	t.Parallel()
	steady.Check(t, func(t *rapid.T) {
		z := New(nil)
		for range 2 {
			o := drawObjects(t)
			z.Source = o
			z.Invalidate()
			from := roleSource{o}
			theirs := rbac.New(from, from, from, from)
			for range 8 {
				a := drawAttributes(t)
				want, why, _ := theirs.Authorize(context.Background(), asked{&a})
				got := z.DecideRBAC(&a)
				if got.Allowed != (want == authorizer.DecisionAllow) || got.Why != why {
					t.Fatalf("%+v:\n got %v %s\nwant %v %s", a, got.Allowed, got.Why, want, why)
				}
			}
		}
	})
}

func TestDecisionNamesTheBinding(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`ClusterRoleBinding "cluster-admin" of ClusterRole "cluster-admin" to Group "system:masters"`: "ClusterRoleBinding cluster-admin",
		`RoleBinding "edit/demo" of ClusterRole "edit" to User "jane"`:                                "RoleBinding demo/edit",
		`ClusterRoleBinding "a \"b\"" of ClusterRole "x" to User "jane"`:                              `ClusterRoleBinding a "b"`,
	} {
		if got := binding(source); got != want {
			t.Errorf("%s: got %s, want %s", source, got, want)
		}
	}
}

// TestGraphFollowsPods has pods come, change and go, and asks for what they refer to.
func TestGraphFollowsPods(t *testing.T) {
	t.Parallel()
	steady.Check(t, func(t *rapid.T) {
		z, pods := New(&objects{}), map[string]*corev1.Pod{}
		for i := range rapid.IntRange(1, 20).Draw(t, "changes") {
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "pod")
			if rapid.Bool().Draw(t, "goes") {
				delete(pods, name)
				z.Follow(client.Pods)("demo/"+name, nil)
				continue
			}
			p := &corev1.Pod{}
			if old := pods[name]; old != nil && rapid.Bool().Draw(t, "the same one") {
				p = old.DeepCopy()
				p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, corev1.EphemeralContainer{})
				p.Spec.EphemeralContainers[len(p.Spec.EphemeralContainers)-1].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "debug"}}}}
			} else {
				p.Name, p.Namespace, p.UID = name, "demo", types.UID(fmt.Sprint(i))
				p.Spec.NodeName = rapid.SampledFrom([]string{"", "node-1", "node-2"}).Draw(t, "node")
				p.Spec.ServiceAccountName = rapid.SampledFrom([]string{"default", "bot"}).Draw(t, "account")
			}
			pods[name] = p
			z.Follow(client.Pods)("demo/"+name, p)
		}
		refers := func(node string, to func(*corev1.Pod) bool) bool {
			for _, p := range pods {
				if p.Spec.NodeName == node && to(p) {
					return true
				}
			}
			return false
		}
		for _, node := range []string{"node-1", "node-2"} {
			for _, account := range []string{"default", "bot"} {
				want := refers(node, func(p *corev1.Pod) bool { return p.Spec.ServiceAccountName == account })
				a := Attributes{User: authn.Node(node), Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: "demo", Name: account}
				if got := z.DecideNode(&a); got.Allowed != want {
					t.Fatalf("a token of %s for %s: got %v, want %v", account, node, got.Allowed, want)
				}
			}
			want := refers(node, func(p *corev1.Pod) bool { return len(p.Spec.EphemeralContainers) > 0 })
			a := Attributes{User: authn.Node(node), Verb: "get", Resource: "secrets", Namespace: "demo", Name: "debug"}
			if got := z.DecideNode(&a); got.Allowed != want {
				t.Fatalf("secret debug for %s: got %v, want %v", node, got.Allowed, want)
			}
		}
	})
}

// BenchmarkDecide compares what is remembered with upstream's authorizer, on the roles
// that every cluster has.
func BenchmarkDecide(b *testing.B) {
	o := &objects{}
	for _, r := range slices.Concat(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()) {
		o.clusterRoles = append(o.clusterRoles, &r)
	}
	for _, c := range slices.Concat(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()) {
		o.clusterBindings = append(o.clusterBindings, &c)
	}
	z, theirs := New(o), rbac.New(roleSource{o}, roleSource{o}, roleSource{o}, roleSource{o})
	a := Attributes{User: authn.ServiceAccount("kube-system", "replicaset-controller"), Verb: "create", Resource: "pods", Namespace: "default"}
	b.Run("remembered", func(b *testing.B) {
		for b.Loop() {
			z.DecideRBAC(&a)
		}
	})
	b.Run("upstream", func(b *testing.B) {
		for b.Loop() {
			_, _, _ = theirs.Authorize(context.Background(), asked{&a})
		}
	})
}
