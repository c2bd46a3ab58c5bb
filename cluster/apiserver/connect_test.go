package apiserver

import (
	"strings"
	"testing"
	"time"

	"kviz/cluster/apiserver/request"
	"kviz/cluster/quota"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/apis/core"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/webhook"
	"kviz/cluster/client"
	"kviz/cluster/remote"
	"kviz/cluster/sim"
)

// deaf are servers outside that count who calls and do not answer.
type deaf struct{ calls int }

func (*deaf) Host(host string) string { return host }
func (*deaf) Image(string) string     { return "" }
func (d *deaf) Send(*sim.Task, string, string, []byte) *remote.Call {
	d.calls++
	return nil
}

// authorizersOf has a webhook that fails asked about creations before RBAC.
func (w *world) authorizersOf(failurePolicy string) *deaf {
	w.t.Helper()
	servers := &deaf{}
	chain, _, err := authz.ReadChain([]byte(`
apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
- type: Webhook
  name: nobody
  webhook:
    timeout: 3s
    subjectAccessReviewVersion: v1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: `+failurePolicy+`
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: /nobody.conf}
    matchConditions: [{expression: "request.resourceAttributes.verb == 'create'"}]
- {type: Node, name: node}
- {type: RBAC, name: rbac}
`), w.s.authorizers.Authorizer, webhook.NewClient(servers, nil, w.k.Rand("test")), quota.Clock{Time: w.k.Now}, func(string) (string, error) { return "https://nobody.example.com", nil })
	if err != nil {
		w.t.Fatal(err)
	}
	w.s.authorizers.Chain = chain
	return servers
}

// exec asks for a command in a pod of no node.
func (w *world) exec(t *sim.Task, verb string, by authn.User) *request.Response {
	return w.s.Handle(t, &request.Request{
		Verb: verb, Resource: client.Pods.GroupVersionResource, Subresource: "exec", Namespace: "default", Name: "lone",
		User: &by, Connect: &corev1.PodExecOptions{Command: []string{"true"}, Stdout: true},
	})
}

// Who gets exec, as a WebSocket does, is asked whether he may create it, too; who sent a
// POST was asked that before, and is not asked again. An authorizer that fails at the
// second question is the answer, as at the first.
func TestExecIsAskedWhetherItMayBeCreated(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		defaultAccount(w, task)
		_, err := w.admin().Create(task, client.Pods, "default", pod("lone"))
		w.must(err)
		w.mustAllow(task, "reader", "get")
		w.mustAllow(task, "runner", "get", "create")
		task.Sleep(time.Millisecond)
		reader, runner := authn.User{Name: "reader"}, authn.User{Name: "runner"}

		if resp := w.exec(task, "get", reader); resp.Status() == nil || resp.Status().Code != 403 || !strings.Contains(resp.Status().Message, `cannot create resource "pods/exec"`) {
			t.Errorf("who may only get it: %+v", resp.Status())
		}
		noHost := "pod lone does not have a host assigned"
		for _, verb := range []string{"get", "create"} {
			if resp := w.exec(task, verb, runner); resp.Status() == nil || resp.Status().Message != noHost {
				t.Errorf("who may create it, by %s: %+v", verb, resp.Status())
			}
		}

		servers := w.authorizersOf("NoOpinion")
		w.exec(task, "get", runner)
		byGet := servers.calls
		w.exec(task, "create", runner)
		if byPost := servers.calls - byGet; byGet == 0 || byPost != byGet {
			t.Errorf("an authorizer is called %d times for a GET, and %d times for a POST", byGet, byPost)
		}
		w.authorizersOf("Deny")
		if resp := w.exec(task, "get", runner); resp.Status() == nil || resp.Status().Code != 500 || !strings.Contains(resp.Status().Message, "nobody.example.com") {
			t.Errorf("an authorizer that fails at the second question: %+v", resp.Status())
		}
	})
}

// mustAllow lets a user do something with pods/exec.
func (w *world) mustAllow(t *sim.Task, user string, verbs ...string) {
	w.t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: verbs}}}
	_, err := w.admin().Create(t, client.Roles, "default", role)
	w.must(err)
	_, err = w.admin().Create(t, client.RoleBindings, "default", &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
	})
	w.must(err)
}

// Policies are asked about connections: the object are the options.
func TestPoliciesAreAskedAboutConnections(t *testing.T) {
	runHooked(t, func(h *hooked) {
		h.apply(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-shells}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CONNECT], resources: [pods/exec, pods/proxy]}]}
  validations: [{expression: "object.kind != 'PodExecOptions' || object.command[0] != 'sh'", message: no shells}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-shells}
spec: {policyName: no-shells, validationActions: [Deny]}
---
apiVersion: v1
kind: Pod
metadata: {name: lone}
spec: {containers: [{name: app, image: nginx}]}`)
		h.t.Sleep(10 * time.Millisecond)
		admin := authn.Admin()
		for subresource, tries := range map[string]map[runtime.Object]string{
			"exec": {
				&corev1.PodExecOptions{Command: []string{"sh"}}: "no shells",
				&corev1.PodExecOptions{Command: []string{"ls"}}: "does not have a host assigned",
			},
			"proxy": {&corev1.PodProxyOptions{}: "address not allowed"},
		} {
			for options, want := range tries {
				resp := h.w.s.Handle(h.t, &request.Request{
					Verb: "create", Resource: client.Pods.GroupVersionResource, Subresource: subresource, Namespace: "default", Name: "lone", User: &admin, Connect: options,
				})
				if resp.Status() == nil || !strings.Contains(resp.Status().Message, want) {
					t.Errorf("%s %+v: %+v, want %q", subresource, options, resp.Status(), want)
				}
			}
		}
	})
}

// Who may reach into a pod is decided here, and whether there is one.
func TestReachingIntoAPod(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		defaultAccount(w, task)
		_, err := w.admin().Create(task, client.Pods, "default", pod("web"))
		w.must(err)
		all := core.LogStreamAll
		logs := func(u authn.User, name string) error {
			return w.s.Handle(task, &request.Request{
				Verb: "get", Resource: client.Pods.GroupVersionResource, Subresource: "log", Namespace: "default", Name: name, User: &u, Log: &core.PodLogOptions{Stream: &all},
			}).Err
		}
		w.must(logs(authn.Admin(), "web"))
		if err := logs(authn.Admin(), "none"); !apierrors.IsNotFound(err) {
			t.Errorf("a pod that is not there gave %v", err)
		}
		if err := logs(authn.User{Name: "jane"}, "web"); !apierrors.IsForbidden(err) {
			t.Errorf("jane's request gave %v", err)
		}
	})
}
