package apiserver

import (
	"strings"
	"testing"
	"time"

	"kviz/cluster/apiserver/request"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// A taint of which nobody says since when begins now, which is virtual time, whichever way
// it came. What the cluster stores must not know the machine's clock.
func TestDeviceTaintsBeginInVirtualTime(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		now := func() time.Time { return task.Now().Truncate(time.Second) }
		send := func(r client.Resource, verb, name string, pt types.PatchType, body string) *request.Response {
			t.Helper()
			req := &request.Request{Verb: verb, Resource: r.GroupVersionResource, Name: name, PatchType: pt}
			if verb == "patch" {
				req.Patch, req.FieldManager = []byte(body), "test"
			} else {
				req.Body = []byte(body)
			}
			resp := w.ask(task, req)
			w.must(resp.Err)
			return resp
		}
		rule := func(verb, name string, pt types.PatchType, body string) time.Time {
			t.Helper()
			got, ok := send(client.DeviceTaintRules, verb, name, pt, body).Object.(*resourcev1.DeviceTaintRule)
			if !ok || got.Spec.Taint.TimeAdded == nil {
				t.Fatalf("%s: the taint has no time", body)
			}
			return got.Spec.Taint.TimeAdded.Time
		}
		expectNow := func(what string, got time.Time) {
			t.Helper()
			if !got.Equal(now()) {
				t.Errorf("%s: the taint began at %v, want %v", what, got, now())
			}
		}
		const head = `{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRule","metadata":{"name":"a"},"spec":{"taint":{"key":"example.com/a","effect":`
		expectNow("created", rule("create", "", "", head+`"NoSchedule"}}}`))
		began := now()
		task.Sleep(time.Minute)
		if got := rule("patch", "a", types.MergePatchType, `{"metadata":{"labels":{"a":"b"}}}`); !got.Equal(began) {
			t.Errorf("a patch of something else moved the taint's time from %v to %v", began, got)
		}
		expectNow("another effect", rule("patch", "a", types.MergePatchType, `{"spec":{"taint":{"effect":"NoExecute"}}}`))
		task.Sleep(time.Minute)
		expectNow("its time taken away", rule("patch", "a", types.MergePatchType, `{"spec":{"taint":{"timeAdded":null}}}`))
		task.Sleep(time.Minute)
		expectNow("applied", rule("patch", "b", types.ApplyPatchType, strings.Replace(head, `"a"`, `"b"`, 1)+`"NoSchedule"}}}`))
		task.Sleep(time.Minute)
		slice := send(client.ResourceSlices, "create", "", "", `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"gpus"},"spec":{
			"driver":"gpu.example.com","nodeName":"node-1","pool":{"name":"node-1","generation":1,"resourceSliceCount":1},
			"devices":[{"name":"gpu-0"},{"name":"gpu-1","taints":[{"key":"example.com/new","effect":"NoSchedule"}]}]}}`).Object.(*resourcev1.ResourceSlice)
		expectNow("of a slice", slice.Spec.Devices[1].Taints[0].TimeAdded.Time)
	})
}

// Who may write the object may not yet speak for its signer: for that the verbs attest and
// sign on the signer are needed.
func TestSignersOfPods(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		jane := authn.User{Name: "jane", Groups: []string{authn.Authenticated}}
		as := func(user authn.User, req *request.Request) error {
			req.User, req.Client, req.ContentType = &user, "kubectl", "application/json"
			return w.s.Handle(task, req).Err
		}
		grant := func(name, rules string) {
			t.Helper()
			w.must(as(authn.Admin(), &request.Request{Verb: "create", Resource: client.ClusterRoles.GroupVersionResource, Body: []byte(
				`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"` + name + `"},"rules":[` + rules + `]}`)}))
			w.must(as(authn.Admin(), &request.Request{Verb: "create", Resource: client.ClusterRoleBindings.GroupVersionResource, Body: []byte(
				`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"` + name + `"},` +
					`"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"jane"}],"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"` + name + `"}}`)}))
			task.Sleep(time.Millisecond)
		}
		bundle := kindCaseOf(t, client.ClusterTrustBundles)
		attest := func() error {
			return as(jane, &request.Request{Verb: "create", Resource: client.ClusterTrustBundles.GroupVersionResource, Body: bundle.manifest(t)})
		}
		asked := kindCaseOf(t, client.PodCertificateRequests)
		deny := func() error {
			return as(jane, &request.Request{
				Verb: "patch", Resource: client.PodCertificateRequests.GroupVersionResource, Subresource: "status", Namespace: "default", Name: "web-1",
				PatchType: types.MergePatchType, Patch: []byte(asked.status),
			})
		}
		w.must(as(authn.Admin(), &request.Request{Verb: "create", Resource: client.PodCertificateRequests.GroupVersionResource, Namespace: "default", Body: asked.manifest(t)}))

		grant("writer", `{"apiGroups":["certificates.k8s.io"],"resources":["clustertrustbundles","podcertificaterequests/status"],"verbs":["create","patch","update"]}`)
		if err := attest(); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `user not permitted to attest for signerName "example.com/signer"`) {
			t.Errorf("attesting without the verb: %v", err)
		}
		if err := deny(); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `spec.signerName: Forbidden: User "jane" is not permitted to "sign" for signer "example.com/signer"`) {
			t.Errorf("answering without the verb: %v", err)
		}
		grant("signer", `{"apiGroups":["certificates.k8s.io"],"resources":["signers"],"resourceNames":["example.com/signer"],"verbs":["attest","sign"]}`)
		w.must(attest())
		w.must(deny())
	})
}

// Devices that somebody else uses are given to nobody, and that is said.
func TestAdminAccessIsRefused(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		const devices = `{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu.example.com","adminAccess":true}}]}}`
		for r, body := range map[client.Resource]string{
			client.ResourceClaims:         `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"a"},"spec":` + devices + `}`,
			client.ResourceClaimTemplates: `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{"name":"a"},"spec":{"spec":` + devices + `}}`,
		} {
			err := w.ask(task, &request.Request{Verb: "create", Resource: r.GroupVersionResource, Namespace: "default", Body: []byte(body)}).Err
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "requests[0].adminAccess: Forbidden: admin access to devices is not given in this cluster") {
				t.Errorf("%s with admin access: %v", r.Kind, err)
			}
		}
	})
}

func kindCaseOf(t *testing.T, r client.Resource) *kindCase {
	t.Helper()
	for i := range kindCases {
		if kindCases[i].r == r {
			return &kindCases[i]
		}
	}
	t.Fatalf("%s has no case", r.GroupVersionResource)
	return nil
}
