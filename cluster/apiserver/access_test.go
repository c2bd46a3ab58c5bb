package apiserver

import (
	"strings"
	"testing"
	"time"

	"kviz/cluster/apiserver/request"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// allowedBy is who allowed the newest request that was decided.
func (w *world) allowedBy() string {
	for i := len(w.sink.events) - 1; i >= 0; i-- {
		if st, ok := w.sink.events[i].Payload.(*trace.Stage); ok && st.Stage == trace.StageAuthorization {
			return st.By
		}
	}
	return ""
}

// TestRBAC: a binding gives rights at once, and takes them when it goes.
func TestRBAC(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		c := w.admin()
		jane := w.s.Client(w.user.Lane, authn.User{Name: "jane", Groups: []string{"developers"}})
		list := func() error {
			_, _, err := jane.List(task, client.Pods, "default", metav1.ListOptions{})
			return err
		}
		if err := list(); !apierrors.IsForbidden(err) || err.Error() != `pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"` {
			t.Errorf("got %v, want a 403", err)
		}
		_, err := c.Create(task, client.RoleBindings, "default", &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "devs"},
			Subjects:   []rbacv1.Subject{{Kind: "Group", APIGroup: "rbac.authorization.k8s.io", Name: "developers"}},
			RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "view"},
		})
		w.must(err)
		task.Sleep(time.Millisecond)
		w.must(list())
		expect(t, w.allowedBy(), "RoleBinding default/devs")
		if _, err := jane.Create(task, client.ConfigMaps, "default", configMap("a")); !apierrors.IsForbidden(err) {
			t.Errorf("a viewer creates: %v", err)
		}
		if _, _, err := jane.List(task, client.Pods, "kube-system", metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("a viewer of default reads kube-system: %v", err)
		}
		w.must(c.Delete(task, client.RoleBindings, "default", "devs", metav1.DeleteOptions{}))
		task.Sleep(time.Millisecond)
		if err := list(); !apierrors.IsForbidden(err) {
			t.Errorf("without the binding jane still reads: %v", err)
		}
	})
}

// TestComponents: the bootstrap policy lets each component do its work.
func TestComponents(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		defaultAccount(w, task)
		_, err := w.admin().Create(task, client.Pods, "default", pod("web"))
		w.must(err)
		lane := w.user.Lane
		scheduler := w.s.Client(lane, authn.Component("kube-scheduler"))
		if _, _, err := scheduler.List(task, client.Pods, "", metav1.ListOptions{}); err != nil {
			t.Errorf("the scheduler cannot list pods: %v", err)
		}
		_, err = scheduler.CreateSub(task, client.Pods, "default", "web", "binding", &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Target: corev1.ObjectReference{Name: "node-1"}})
		w.must(err)
		expect(t, w.allowedBy(), "ClusterRoleBinding system:kube-scheduler")

		kubelet := w.s.Client(lane, authn.Node("node-1"))
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
		_, err = kubelet.Create(task, client.Nodes, "", node)
		w.must(err)
		if _, err := kubelet.Create(task, client.Nodes, "", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2"}}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `node "node-1" is not allowed to modify node "node-2"`) {
			t.Errorf("a kubelet registers another node: %v", err)
		}
		p, err := client.Get[*corev1.Pod](task, w.admin(), client.Pods, "default", "web")
		w.must(err)
		p.Status.Phase = corev1.PodRunning
		p, err = client.UpdateStatus(task, kubelet, client.Pods, "default", p)
		w.must(err)
		intruder := w.s.Client(lane, authn.Node("node-2"))
		if _, err := client.UpdateStatus(task, intruder, client.Pods, "default", p); !apierrors.IsForbidden(err) {
			t.Errorf("node-2 reports a pod of node-1: %v", err)
		}
		if _, _, err := kubelet.List(task, client.Pods, "", metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("a kubelet lists every pod: %v", err)
		}
		controller := w.s.Client(lane, authn.ServiceAccount("kube-system", "replicaset-controller"))
		_, err = controller.Create(task, client.Pods, "default", pod("made"))
		w.must(err)
		expect(t, w.allowedBy(), "ClusterRoleBinding system:controller:replicaset-controller")
	})
}

// TestTokens: a token of a service account proves it, until it expires or what
// it is bound to is gone.
func TestTokens(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		defaultAccount(w, task)
		c := w.admin()
		p, err := client.Create(task, c, client.Pods, "default", pod("web"))
		w.must(err)
		made, err := c.CreateSub(task, client.ServiceAccounts, "default", "default", "token", &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", Name: "web", UID: p.UID},
		}})
		w.must(err)
		token := made.(*authenticationv1.TokenRequest).Status.Token
		whoami := func(token string) *request.Response {
			return w.s.Handle(task, &request.Request{
				Verb: "create", Token: token, Object: &authenticationv1.SelfSubjectReview{},
				Resource: schema.GroupVersionResource{Group: "authentication.k8s.io", Version: "v1", Resource: "selfsubjectreviews"},
			})
		}
		r := whoami(token)
		w.must(r.Err)
		if got := r.Object.(*authenticationv1.SelfSubjectReview).Status.UserInfo.Username; got != "system:serviceaccount:default:default" {
			t.Errorf("the token speaks for %s", got)
		}
		if r := whoami(token[:len(token)-4] + "AAAA"); !apierrors.IsUnauthorized(r.Err) {
			t.Errorf("a forged token gave %v, want 401", r.Err)
		}
		w.must(c.Delete(task, client.Pods, "default", "web", metav1.DeleteOptions{}))
		task.Sleep(time.Millisecond)
		if r := whoami(token); !apierrors.IsUnauthorized(r.Err) {
			t.Errorf("the token of a pod that is gone gave %v, want 401", r.Err)
		}
		made, err = c.CreateSub(task, client.ServiceAccounts, "default", "default", "token", &authenticationv1.TokenRequest{})
		w.must(err)
		token = made.(*authenticationv1.TokenRequest).Status.Token
		w.must(whoami(token).Err)
		task.Sleep(time.Hour + authn.Leeway + time.Second)
		if r := whoami(token); !apierrors.IsUnauthorized(r.Err) {
			t.Errorf("an expired token gave %v, want 401", r.Err)
		}
	})
}

// TestReviews: kubectl auth can-i.
func TestReviews(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		u := authn.User{Name: "jane"}
		ask := func(verb, resource string) bool {
			r := w.s.Handle(task, &request.Request{
				Verb: "create", User: &u, Resource: schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"},
				Object: &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
					ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Resource: resource, Namespace: "default"},
				}},
			})
			w.must(r.Err)
			return r.Object.(*authorizationv1.SelfSubjectAccessReview).Status.Allowed
		}
		if ask("delete", "pods") {
			t.Error("jane may delete pods")
		}
		_, err := w.admin().Create(task, client.ClusterRoleBindings, "", &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "jane"},
			Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "jane"}},
			RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "edit"},
		})
		w.must(err)
		task.Sleep(time.Millisecond)
		if !ask("delete", "pods") || ask("delete", "nodes") {
			t.Error("an editor may delete pods, and no nodes")
		}
	})
}
