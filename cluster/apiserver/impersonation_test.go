package apiserver

import (
	"slices"
	"testing"
	"time"

	"kviz/cluster/apiserver/request"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// TestImpersonation: the pipeline decides who may act as whom, and its stage
// says so; the stages after it see the other.
func TestImpersonation(t *testing.T) {
	deputy := authn.User{Name: "deputy"}
	for _, x := range []struct {
		name   string
		sender authn.User
		as     request.Impersonation
		note   string // of the impersonation stage
		stage  string // that refuses
		err    string
	}{
		{
			name: "an administrator acts as a user", sender: authn.Admin(), as: request.Impersonation{User: "alice"},
			note:  "kubernetes-admin may act as others, and acts as alice of group system:authenticated.",
			stage: trace.StageAuthorization,
			err:   `pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "default"`,
		},
		{
			name: "with a group that decides", sender: authn.Admin(), as: request.Impersonation{User: "alice", Groups: []string{authn.Masters}},
			note: "kubernetes-admin may act as others, and acts as alice of groups system:masters, system:authenticated.",
		},
		{
			name: "as a service account, with its groups", sender: authn.Admin(), as: request.Impersonation{User: "system:serviceaccount:demo:web"},
			note:  "kubernetes-admin may act as others, and acts as system:serviceaccount:demo:web of groups system:serviceaccounts, system:serviceaccounts:demo, system:authenticated.",
			stage: trace.StageAuthorization,
			err:   `pods is forbidden: User "system:serviceaccount:demo:web" cannot list resource "pods" in API group "" in the namespace "default"`,
		},
		{
			name: "as nobody", sender: authn.Admin(), as: request.Impersonation{User: authn.Anonymous},
			note:  "kubernetes-admin may act as others, and acts as system:anonymous of group system:unauthenticated.",
			stage: trace.StageAuthorization,
			err:   `pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" in the namespace "default"`,
		},
		{
			name: "one who may, by a ClusterRole", sender: deputy, as: request.Impersonation{User: "alice"},
			note:  "deputy may act as others, and acts as alice of group system:authenticated.",
			stage: trace.StageAuthorization,
			err:   `pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "default"`,
		},
		{
			name: "but not as a group", sender: deputy, as: request.Impersonation{User: "alice", Groups: []string{authn.Masters}},
			stage: trace.StageImpersonation,
			err:   `groups "system:masters" is forbidden: User "deputy" cannot impersonate resource "groups" in API group "" at the cluster scope`,
		},
		{
			name: "one who may not", sender: authn.User{Name: "mallory"}, as: request.Impersonation{User: "kubernetes-admin"},
			stage: trace.StageImpersonation,
			err:   `users "kubernetes-admin" is forbidden: User "mallory" cannot impersonate resource "users" in API group "" at the cluster scope`,
		},
		{
			name: "extra fields are asked about one by one", sender: deputy, as: request.Impersonation{User: "alice", Extra: []request.ImpersonatedExtra{{Key: "scopes", Values: []string{"all"}}}},
			stage: trace.StageImpersonation,
			err:   `userextras.authentication.k8s.io "all" is forbidden: User "deputy" cannot impersonate resource "userextras/scopes" in API group "authentication.k8s.io" at the cluster scope`,
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			run(t, Config{}, func(w *world, task *sim.Task) {
				c := w.admin()
				_, err := c.Create(task, client.ClusterRoles, "", &rbacv1.ClusterRole{
					ObjectMeta: metav1.ObjectMeta{Name: "acting"},
					Rules:      []rbacv1.PolicyRule{{Verbs: []string{"impersonate"}, APIGroups: []string{""}, Resources: []string{"users"}, ResourceNames: []string{"alice"}}},
				})
				w.must(err)
				_, err = c.Create(task, client.ClusterRoleBindings, "", &rbacv1.ClusterRoleBinding{
					ObjectMeta: metav1.ObjectMeta{Name: "acting"},
					Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "deputy"}},
					RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "acting"},
				})
				w.must(err)
				task.Sleep(time.Millisecond)
				resp := w.s.Handle(task, &request.Request{Verb: "list", Resource: client.Pods.GroupVersionResource, Namespace: "default", User: &x.sender, Impersonate: &x.as})
				got := ""
				if resp.Err != nil {
					got = resp.Err.Error()
				}
				if got != x.err || resp.Stage != x.stage {
					t.Errorf("refused by %q: %s\nwant %q: %s", resp.Stage, got, x.stage, x.err)
				}
				i := slices.IndexFunc(w.sink.events, func(e *trace.Event) bool {
					st, ok := e.Payload.(*trace.Stage)
					return ok && st.Request == w.s.peers.requests && st.Stage == trace.StageImpersonation
				})
				if i < 0 {
					t.Fatal("the stage left no event")
				}
				if st := w.sink.events[i].Payload.(*trace.Stage); x.note != "" && st.Note != x.note {
					t.Errorf("the stage says %q\nwant %q", st.Note, x.note)
				}
			})
		})
	}
}
