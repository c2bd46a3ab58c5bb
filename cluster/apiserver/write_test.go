package apiserver

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// patch sends a patch as kubectl would.
func (w *world) patch(t *sim.Task, r client.Resource, name string, pt types.PatchType, body, manager string, force bool) *request.Response {
	u := authn.Admin()
	return w.s.Handle(t, &request.Request{
		Verb: "patch", Resource: r.GroupVersionResource, Namespace: "default", Name: name, User: &u, Client: "kubectl",
		PatchType: pt, Patch: []byte(body), FieldManager: manager, Force: force, FieldValidation: "Strict",
	})
}

// TestPatchTypes: the four ways to change a part of an object.
func TestPatchTypes(t *testing.T) {
	deployment := func() *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx"}, {Name: "log", Image: "busybox"}}},
			},
		}}
	}
	images := func(o runtime.Object) string {
		var out []string
		for _, c := range o.(*appsv1.Deployment).Spec.Template.Spec.Containers {
			out = append(out, c.Name+"="+c.Image)
		}
		return strings.Join(out, " ")
	}
	for _, tc := range []struct {
		name, body string
		pt         types.PatchType
		want       string
		refused    func(error) bool
	}{
		{"JSON patch", `[{"op":"replace","path":"/spec/template/spec/containers/1/image","value":"fluent"}]`, types.JSONPatchType, "app=nginx log=fluent", nil},
		{"JSON patch whose test fails", `[{"op":"test","path":"/spec/replicas","value":7}]`, types.JSONPatchType, "", func(err error) bool { return apierrors.IsInvalid(err) || request.StatusOf(err).Code == 422 }},
		{"merge patch replaces lists", `{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"caddy"}]}}}}`, types.MergePatchType, "app=caddy", nil},
		{"strategic merge patch merges them by name", `{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"caddy"}]}}}}`, types.StrategicMergePatchType, "app=caddy log=busybox", nil},
		{"and removes with a directive", `{"spec":{"template":{"spec":{"containers":[{"name":"log","$patch":"delete"}]}}}}`, types.StrategicMergePatchType, "app=nginx", nil},
		{"a patch with a field nobody knows", `{"spec":{"replicass":3}}`, types.MergePatchType, "", apierrors.IsInvalid},
		{"a patch that breaks the rules", `{"spec":{"replicas":-1}}`, types.MergePatchType, "", apierrors.IsInvalid},
		{"a patch of another revision", `{"metadata":{"resourceVersion":"1"},"spec":{"replicas":2}}`, types.MergePatchType, "", apierrors.IsConflict},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run(t, Config{}, func(w *world, task *sim.Task) {
				_, err := w.admin().Create(task, client.Deployments, "default", deployment())
				w.must(err)
				r := w.patch(task, client.Deployments, "web", tc.pt, tc.body, "kubectl-patch", false)
				if tc.refused != nil {
					if r.Err == nil || !tc.refused(r.Err) {
						t.Errorf("got %v, want a refusal of another kind", r.Err)
					}
					return
				}
				w.must(r.Err)
				if got := images(r.Object); got != tc.want {
					t.Errorf("containers are %q, want %q", got, tc.want)
				}
			})
		})
	}
}

// TestApply: server-side apply creates, owns fields, refuses to take a field
// that another manager owns, and takes it when forced.
func TestApply(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		body := func(value string) string {
			return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: " + value + "\n"
		}
		r := w.patch(task, client.ConfigMaps, "a", types.ApplyPatchType, body("one"), "alice", false)
		w.must(r.Err)
		if r.Code != 201 {
			t.Errorf("apply of a new object gave %d, want 201", r.Code)
		}
		m := r.Object.(*corev1.ConfigMap).ManagedFields
		if len(m) != 1 || m[0].Manager != "alice" || m[0].Operation != metav1.ManagedFieldsOperationApply || !strings.Contains(string(m[0].FieldsV1.Raw), `"f:k"`) {
			t.Fatalf("managedFields are %+v, want alice's apply of data.k", m)
		}
		if !m[0].Time.Time.Equal(r.Object.(*corev1.ConfigMap).CreationTimestamp.Time) {
			t.Errorf("managedFields carry the time %v, want virtual time %v", m[0].Time, r.Object.(*corev1.ConfigMap).CreationTimestamp)
		}
		r = w.patch(task, client.ConfigMaps, "a", types.ApplyPatchType, body("two"), "bob", false)
		if !apierrors.IsConflict(r.Err) || r.Err.Error() != `Apply failed with 1 conflict: conflict with "alice": .data.k` {
			t.Errorf("bob's apply gave %v, want a conflict with alice", r.Err)
		}
		r = w.patch(task, client.ConfigMaps, "a", types.ApplyPatchType, body("two"), "bob", true)
		w.must(r.Err)
		if got := r.Object.(*corev1.ConfigMap).Data["k"]; got != "two" {
			t.Errorf("data.k is %q after a forced apply, want two", got)
		}
		// A plain update takes the field as well, and says so.
		r = w.patch(task, client.ConfigMaps, "a", types.MergePatchType, `{"data":{"k":"three"}}`, "carol", false)
		w.must(r.Err)
		r = w.patch(task, client.ConfigMaps, "a", types.ApplyPatchType, body("two"), "bob", false)
		if !apierrors.IsConflict(r.Err) || !strings.Contains(r.Err.Error(), `conflict with "carol" using v1`) {
			t.Errorf("got %v, want a conflict with carol", r.Err)
		}
		r = w.patch(task, client.ConfigMaps, "a", types.ApplyPatchType, body("two"), "", false)
		if !apierrors.IsInvalid(r.Err) {
			t.Errorf("apply without a manager gave %v, want Invalid", r.Err)
		}
	})
}

// TestFinalizers: an object with finalizers is marked, and goes with the last
// of them.
func TestFinalizers(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		c := w.admin()
		cm := configMap("a")
		cm.Finalizers = []string{"example.com/lock"}
		_, err := c.Create(task, client.ConfigMaps, "default", cm)
		w.must(err)
		w.must(c.Delete(task, client.ConfigMaps, "default", "a", metav1.DeleteOptions{}))
		got, err := client.Get[*corev1.ConfigMap](task, c, client.ConfigMaps, "default", "a")
		w.must(err)
		if got.DeletionTimestamp == nil {
			t.Fatal("the object is not marked for deletion")
		}
		rev := w.s.Store().Revision()
		w.must(c.Delete(task, client.ConfigMaps, "default", "a", metav1.DeleteOptions{}))
		if w.s.Store().Revision() != rev {
			t.Error("deleting again wrote again")
		}
		more := got.DeepCopy()
		more.Finalizers = append(more.Finalizers, "example.com/another")
		if _, err := client.Update(task, c, client.ConfigMaps, "default", more); !apierrors.IsInvalid(err) {
			t.Errorf("adding a finalizer to a dying object gave %v, want Invalid", err)
		}
		got.Finalizers = nil
		_, err = client.Update(task, c, client.ConfigMaps, "default", got)
		w.must(err)
		if _, err := c.Get(task, client.ConfigMaps, "default", "a"); !apierrors.IsNotFound(err) {
			t.Errorf("got %v, want NotFound after the last finalizer", err)
		}
	})
}

// TestPropagation: the deletion options become finalizers for the garbage
// collector.
func TestPropagation(t *testing.T) {
	for policy, want := range map[metav1.DeletionPropagation]string{
		metav1.DeletePropagationOrphan: metav1.FinalizerOrphanDependents, metav1.DeletePropagationForeground: metav1.FinalizerDeleteDependents, metav1.DeletePropagationBackground: "",
	} {
		t.Run(string(policy), func(t *testing.T) {
			run(t, Config{}, func(w *world, task *sim.Task) {
				w.put(task, "a", "1")
				w.must(w.admin().Delete(task, client.ConfigMaps, "default", "a", metav1.DeleteOptions{PropagationPolicy: &policy}))
				obj, err := w.admin().Get(task, client.ConfigMaps, "default", "a")
				if want == "" {
					if !apierrors.IsNotFound(err) {
						t.Errorf("got %v, want NotFound", err)
					}
					return
				}
				w.must(err)
				if f := object.Meta(obj).GetFinalizers(); len(f) != 1 || f[0] != want {
					t.Errorf("finalizers are %v, want %s", f, want)
				}
			})
		})
	}
}

// TestPodDeletion: the grace period, which only gets shorter; preconditions;
// eviction.
func TestPodDeletion(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		defaultAccount(w, task)
		c := w.admin()
		p, err := client.Create(task, c, client.Pods, "default", pod("unscheduled"))
		w.must(err)
		other := types.UID("somebody-else")
		err = c.Delete(task, client.Pods, "default", "unscheduled", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}})
		if !apierrors.IsConflict(err) {
			t.Errorf("the wrong UID gave %v, want a conflict", err)
		}
		w.must(c.Delete(task, client.Pods, "default", "unscheduled", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.UID}}))
		if _, err := c.Get(task, client.Pods, "default", "unscheduled"); !apierrors.IsNotFound(err) {
			t.Errorf("an unscheduled pod is still there: %v", err)
		}
		p = pod("web")
		p.Spec.NodeName = "node-1"
		_, err = c.Create(task, client.Pods, "default", p)
		w.must(err)
		_, err = c.CreateSub(task, client.Pods, "default", "web", "eviction", &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web"}})
		w.must(err)
		p, err = client.Get[*corev1.Pod](task, c, client.Pods, "default", "web")
		w.must(err)
		if p.DeletionTimestamp == nil || *p.DeletionGracePeriodSeconds != 30 || p.Generation != 2 {
			t.Fatalf("after an eviction: deletionTimestamp %v, grace %v, generation %d", p.DeletionTimestamp, p.DeletionGracePeriodSeconds, p.Generation)
		}
		at := p.DeletionTimestamp
		w.must(c.Delete(task, client.Pods, "default", "web", metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(60))}))
		w.must(c.Delete(task, client.Pods, "default", "web", metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(10))}))
		p, err = client.Get[*corev1.Pod](task, c, client.Pods, "default", "web")
		w.must(err)
		if got := at.Sub(p.DeletionTimestamp.Time).Seconds(); got != 20 {
			t.Errorf("the end came %v s earlier, want 20", got)
		}
		w.must(c.Delete(task, client.Pods, "default", "web", metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}))
		if _, err := c.Get(task, client.Pods, "default", "web"); !apierrors.IsNotFound(err) {
			t.Errorf("the pod is still there: %v", err)
		}
	})
}

// TestRace: of many writers that read the same state and do not insist on it,
// all get through; of those that insist, one does.
func TestRace(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		w.put(task, "a", "0")
		const writers = 20
		var done sim.Cond
		patched, updated, conflicts, left := 0, 0, 0, 2*writers
		old, err := client.Get[*corev1.ConfigMap](task, w.admin(), client.ConfigMaps, "default", "a")
		w.must(err)
		for i := range writers {
			w.user.Go("patcher", func(pt *sim.Task) {
				r := w.patch(pt, client.ConfigMaps, "a", types.MergePatchType, `{"data":{"`+string(rune('a'+i))+`":"x"}}`, "m", false)
				if r.Err == nil {
					patched++
				}
				left--
				done.Broadcast()
			})
			w.user.Go("updater", func(ut *sim.Task) {
				mine := old.DeepCopy()
				mine.Labels = map[string]string{"by": string(rune('a' + i))}
				_, err := client.Update(ut, w.admin(), client.ConfigMaps, "default", mine)
				switch {
				case err == nil:
					updated++
				case apierrors.IsConflict(err):
					conflicts++
				default:
					t.Error(err)
				}
				left--
				done.Broadcast()
			})
		}
		for left > 0 {
			done.Wait(task)
		}
		if patched != writers || updated > 1 || updated+conflicts != writers {
			t.Errorf("%d of %d patches, %d updates, %d conflicts", patched, writers, updated, conflicts)
		}
		cm, err := client.Get[*corev1.ConfigMap](task, w.admin(), client.ConfigMaps, "default", "a")
		w.must(err)
		if len(cm.Data) != writers+1 {
			t.Errorf("%d keys, want %d: a patch was lost", len(cm.Data), writers+1)
		}
	})
}

// TestScale: the scale subresource reads and writes spec.replicas only.
func TestScale(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}, Spec: appsv1.ReplicaSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: pod("").Spec},
		}}
		_, err := w.admin().Create(task, client.ReplicaSets, "default", rs)
		w.must(err)
		u := authn.Admin()
		get := w.s.Handle(task, &request.Request{Verb: "get", Resource: client.ReplicaSets.GroupVersionResource, Subresource: "scale", Namespace: "default", Name: "web", User: &u})
		w.must(get.Err)
		scale := get.Object.(*autoscalingv1.Scale)
		if scale.Spec.Replicas != 1 || scale.Status.Selector != "app=web" {
			t.Errorf("the scale is %+v %+v", scale.Spec, scale.Status)
		}
		scale.Spec.Replicas = 4
		_, err = w.admin().Update(task, client.ReplicaSets, "default", scale, "scale")
		w.must(err)
		if _, err := w.admin().Update(task, client.ReplicaSets, "default", scale, "scale"); !apierrors.IsConflict(err) {
			t.Errorf("scaling an old state gave %v, want a conflict", err)
		}
		got, err := client.Get[*appsv1.ReplicaSet](task, w.admin(), client.ReplicaSets, "default", "web")
		w.must(err)
		if *got.Spec.Replicas != 4 || got.Generation != 2 {
			t.Errorf("replicas %d, generation %d, want 4 and 2", *got.Spec.Replicas, got.Generation)
		}
	})
}
