package apiserver

import (
	"context"
	"fmt"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podsecurity "k8s.io/pod-security-admission/admission"
	psaconfig "k8s.io/pod-security-admission/admission/api"
	psa "k8s.io/pod-security-admission/api"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// podsIn is a lister that gives upstream the same pods.
type podsIn []*corev1.Pod

func (p podsIn) ListPods(context.Context, string) ([]*corev1.Pod, error) { return slices.Clone(p), nil }

// TestExistingPodsAreMeasuredAsUpstreamDoes compares the warnings of a namespace
// that gets a stricter label with those of k8s.io/pod-security-admission.
func TestExistingPodsAreMeasuredAsUpstreamDoes(t *testing.T) {
	t.Parallel()
	yes := true
	run(t, Config{}, func(w *world, task *sim.Task) {
		c := w.admin()
		defaultAccount(w, task)
		for i := range 12 {
			p := pod(fmt.Sprintf("p-%02d", i))
			switch i % 4 {
			case 0:
				p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: &yes}
			case 1:
				p.Spec.HostNetwork = true
			case 2:
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: types.UID("rs"), Controller: &yes}}
			}
			_, err := client.Create(task, c, client.Pods, "default", p)
			w.must(err)
		}
		ns, err := client.Get[*corev1.Namespace](task, c, client.Namespaces, "", "default")
		w.must(err)
		for _, level := range []psa.Level{psa.LevelBaseline, psa.LevelRestricted} {
			strict := ns.DeepCopy()
			strict.Labels = map[string]string{psa.EnforceLevelLabel: string(level), psa.EnforceVersionLabel: "v1.30"}
			plugin, err := admission.NewPodSecurity(nil, nil, w.s.caches)
			w.must(err)
			did, err := plugin.Validate(&request.Scope{Task: task}, &admission.Attributes{
				Operation: admission.Update, Kind: client.Namespaces.GVK(), Resource: client.Namespaces.GroupVersionResource, Name: "default", Object: strict, OldObject: ns,
			})
			if err != nil {
				t.Fatal(err)
			}

			theirs := plugin.Library()
			var pods podsIn
			all, err := w.s.caches.Newest(task, client.Pods, "default")
			w.must(err)
			for _, obj := range all {
				pods = append(pods, obj.(*corev1.Pod))
			}
			theirs.PodLister, theirs.PodSpecExtractor = pods, podsecurity.DefaultPodSpecExtractor{}
			want := theirs.Validate(context.Background(), &psa.AttributesRecord{
				Name: "default", Namespace: "default", Kind: client.Namespaces.GVK(), Resource: client.Namespaces.GroupVersionResource,
				Operation: admissionv1.Update, Object: strict, OldObject: ns,
			})
			if len(want.Warnings) == 0 || !slices.Equal(did.Warnings, want.Warnings) {
				t.Errorf("%s:\n got %q\nwant %q", level, did.Warnings, want.Warnings)
			}
		}
	})
}

// TestPodSecurityExemptions has a cluster whose administrators ask for restricted
// pods everywhere, but of some users, in some namespaces.
func TestPodSecurityExemptions(t *testing.T) {
	t.Parallel()
	cfg := &psaconfig.PodSecurityConfiguration{
		Defaults:   psaconfig.PodSecurityDefaults{Enforce: "restricted", EnforceVersion: "latest", Audit: "restricted", AuditVersion: "latest", Warn: "restricted", WarnVersion: "latest"},
		Exemptions: psaconfig.PodSecurityExemptions{Namespaces: []string{"kube-system"}, Usernames: []string{"operator"}, RuntimeClasses: []string{"vm"}},
	}
	run(t, Config{PodSecurity: cfg}, func(w *world, task *sim.Task) {
		for _, try := range []struct {
			namespace, user, class string
			allowed                bool
		}{
			{"default", "jane", "", false},
			{"default", "operator", "", true},
			{"kube-system", "jane", "", true},
			{"default", "jane", "vm", true},
			{"default", "jane", "gvisor", false},
		} {
			p := pod("p")
			if try.class != "" {
				p.Spec.RuntimeClassName = &try.class
			}
			plugin, err := admission.NewPodSecurity(nil, cfg, w.s.caches)
			w.must(err)
			_, err = plugin.Validate(&request.Scope{Task: task}, &admission.Attributes{
				Operation: admission.Create, Kind: client.Pods.GVK(), Resource: client.Pods.GroupVersionResource, Namespaced: true,
				Namespace: try.namespace, User: authn.User{Name: try.user}, Object: p,
			})
			if (err == nil) != try.allowed {
				t.Errorf("%+v: %v", try, err)
			}
		}
	})
}
