package apipipe

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/view"
	"kviz/tui/tuitest"
)

// bindings is a story of what was granted to whom.
func bindings() *view.History {
	tape := tuitest.Story()
	put := func(kind, resource, ns, name string, o runtime.Object) {
		tape.Commit(tuitest.Ref(kind, ns, name), resource, o)
	}
	named := func(ns, name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: ns, Name: name} }
	put("Role", "roles", "demo", "pod-reader", &rbacv1.Role{ObjectMeta: named("demo", "pod-reader"), Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"get", "watch", "list"}, APIGroups: []string{""}, Resources: []string{"pods", "pods/log"}},
		{Verbs: []string{"update"}, APIGroups: []string{"apps"}, Resources: []string{"deployments"}, ResourceNames: []string{"web"}},
	}})
	put("ClusterRole", "clusterroles", "", "cluster-admin", &rbacv1.ClusterRole{ObjectMeta: named("", "cluster-admin"), Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
		{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
	}})
	put("ClusterRole", "clusterroles", "", "empty", &rbacv1.ClusterRole{ObjectMeta: named("", "empty")})
	bind := func(ns, name, kind, role string, who ...rbacv1.Subject) {
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role}
		if ns == "" {
			put("ClusterRoleBinding", "clusterrolebindings", "", name, &rbacv1.ClusterRoleBinding{ObjectMeta: named("", name), RoleRef: ref, Subjects: who})
			return
		}
		put("RoleBinding", "rolebindings", ns, name, &rbacv1.RoleBinding{ObjectMeta: named(ns, name), RoleRef: ref, Subjects: who})
	}
	user := func(name string) rbacv1.Subject { return rbacv1.Subject{Kind: "User", Name: name} }
	bind("", "admins", "ClusterRole", "cluster-admin", rbacv1.Subject{Kind: "Group", Name: "system:masters"})
	bind("", "scheduler", "ClusterRole", "cluster-admin", user("system:kube-scheduler"))
	bind("demo", "read-pods", "Role", "pod-reader", user("jane"), rbacv1.Subject{Kind: "ServiceAccount", Name: "my-app"})
	bind("demo", "late", "Role", "nothing", user("bob"))
	bind("demo", "hollow", "ClusterRole", "empty", user("eve"))
	return tape.History()
}

// Who may do what, at the sizes that every pane is looked at.
func TestAccess(t *testing.T) {
	h := bindings()
	for _, size := range [][2]int{{78, 22}, {118, 38}, {160, 20}} {
		tuitest.Golden(t, fmt.Sprintf("access-%d", size[0]), tuitest.Planes(tuitest.Pane(New(), h, h.Latest(), size[0], size[1], "do api.part", "do api.part")))
	}
	var told []string
	for _, g := range h.Latest().Grants() {
		told = append(told, g.String())
	}
	want := `RoleBinding demo/late gives bob nothing: there is no Role nothing.
RoleBinding demo/hollow gives eve nothing: ClusterRole empty has no rules.
group system:masters may * * everywhere: rule 1 of ClusterRole cluster-admin, by ClusterRoleBinding admins.
group system:masters may * paths * everywhere: rule 2 of ClusterRole cluster-admin, by ClusterRoleBinding admins.
jane may get, watch, list pods, pods/log in namespace demo: rule 1 of Role pod-reader, by RoleBinding demo/read-pods.
jane may update deployments.apps/web in namespace demo: rule 2 of Role pod-reader, by RoleBinding demo/read-pods.
sa demo/my-app may get, watch, list pods, pods/log in namespace demo: rule 1 of Role pod-reader, by RoleBinding demo/read-pods.
sa demo/my-app may update deployments.apps/web in namespace demo: rule 2 of Role pod-reader, by RoleBinding demo/read-pods.
system:kube-scheduler may * * everywhere: rule 1 of ClusterRole cluster-admin, by ClusterRoleBinding scheduler.
system:kube-scheduler may * paths * everywhere: rule 2 of ClusterRole cluster-admin, by ClusterRoleBinding scheduler.`
	if got := strings.Join(told, "\n"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
