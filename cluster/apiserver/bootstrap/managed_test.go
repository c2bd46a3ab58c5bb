package bootstrap_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/bootstrap"
	"kviz/cluster/apiserver/controlplane"
	"kviz/cluster/apiserver/fieldmanager"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
)

// The objects of a new cluster have the managed fields that the field manager notes when the
// requests by which upstream makes them come one after the other.
func TestManagedFieldsAreTheFieldManagers(t *testing.T) {
	l := bootstrap.List{Now: metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), UID: func() types.UID { return "u" }}
	l.AddNamespaces()
	l.AddPolicy()
	l.AddPriorityClasses()
	controllers := controlplane.Controllers{CIDR: netip.MustParsePrefix("10.96.0.0/12")}
	controllers.AddTo(&l, "10.0.0.1", func(string) *rand.Rand { return rand.New(rand.NewPCG(1, 1)) })

	managers := &fieldmanager.Managers{}
	compared := map[string]int{}
	for _, o := range l.Objects {
		switch o.Kind.Kind {
		case "Service", "EndpointSlice", "Endpoints":
			continue // of these the server itself goes on writing, and components' writes are not noted
		}
		got := object.Meta(o.Object).GetManagedFields()
		if want := written(t, managers, o.Kind, o.Object, "kube-apiserver"); !cmp.Equal(entries(t, want), entries(t, got)) {
			t.Errorf("%s %s: %s", o.Kind.Kind, object.Meta(o.Object).GetName(), cmp.Diff(entries(t, want), entries(t, got)))
		}
		compared[o.Kind.Kind] += len(got)
	}
	for _, kind := range []string{"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Namespace", "PriorityClass", "ServiceCIDR", "IPAddress"} {
		if compared[kind] == 0 {
			t.Errorf("no %s has managed fields", kind)
		}
	}

	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"app": "a"}}, Data: map[string]string{"a": "1", "b.conf": "2"}}
	config.SetGroupVersionKind(client.ConfigMaps.GVK())
	bootstrap.Created(config, "kubeadm", l.Now)
	want := written(t, managers, registry.KindFor(client.ConfigMaps.GroupVersionResource), config, "kubeadm")
	if diff := cmp.Diff(entries(t, want), entries(t, config.ManagedFields)); diff != "" {
		t.Errorf("ConfigMap: %s", diff)
	}
}

// written sends the requests that make an object to the field manager: its creation and, if
// one of upstream's controllers applies a part of it afterwards, that.
func written(t *testing.T, managers *fieldmanager.Managers, kind *registry.Kind, obj runtime.Object, creator string) []metav1.ManagedFieldsEntry {
	t.Helper()
	created := obj.DeepCopyObject()
	object.Meta(created).SetManagedFields(nil)
	var applied map[string]any
	var applier, subresource string
	var then func(runtime.Object) runtime.Object
	switch o := created.(type) {
	case *corev1.Namespace:
		o.Spec, o.Status = corev1.NamespaceSpec{}, corev1.NamespaceStatus{} // the strategy's
	case *rbacv1.ClusterRole:
		if o.AggregationRule != nil {
			applier, applied = "clusterrole-aggregation-controller", part(t, o, "rules")
			o.Rules = nil
		}
	case *networkingv1.ServiceCIDR:
		applier = "kubernetes-service-cidr-controller"
		o.Status.Conditions[0].Message = "Kubernetes default Service CIDR is ready" // until the other controller comes
		applied = part(t, o, "status")
		finalizers := o.Finalizers
		o.Finalizers = nil
		then = func(made runtime.Object) runtime.Object { // kube-controller-manager's
			bare := made.DeepCopyObject()
			made.(*networkingv1.ServiceCIDR).Finalizers = finalizers
			m, err := managers.Of(nil, kind, "")
			if err != nil {
				t.Fatal(err)
			}
			made = m.UpdateNoErrors(bare, made, "kube-controller-manager")
			if m, err = managers.Of(nil, kind, "status"); err != nil {
				t.Fatal(err)
			}
			status := part(t, obj, "status")
			status["status"].(map[string]any)["conditions"].([]any)[0].(map[string]any)["reason"] = ""
			if made, err = m.Apply(made, &unstructured.Unstructured{Object: status}, "service-cidr-controller", true); err != nil {
				t.Fatal(err)
			}
			return made
		}
		subresource, o.Status = "status", networkingv1.ServiceCIDRStatus{}
	}
	empty := kind.New()
	empty.GetObjectKind().SetGroupVersionKind(kind.GVK())
	m, err := managers.Of(nil, kind, "")
	if err != nil {
		t.Fatal(err)
	}
	created = m.UpdateNoErrors(empty, created, creator)
	if applied != nil {
		if m, err = managers.Of(nil, kind, subresource); err != nil {
			t.Fatal(err)
		}
		created.GetObjectKind().SetGroupVersionKind(kind.GVK())
		if created, err = m.Apply(created, &unstructured.Unstructured{Object: applied}, applier, true); err != nil {
			t.Fatal(err)
		}
	}
	if then != nil {
		created = then(created)
	}
	return object.Meta(created).GetManagedFields()
}

// part is an apply configuration of one field.
func part(t *testing.T, obj runtime.Object, field string) map[string]any {
	t.Helper()
	all, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	if conditions, ok, _ := unstructured.NestedSlice(all, "status", "conditions"); ok {
		delete(conditions[0].(map[string]any), "reason") // upstream applies none
		all["status"] = map[string]any{"conditions": conditions}
	}
	return map[string]any{"apiVersion": all["apiVersion"], "kind": all["kind"], "metadata": map[string]any{"name": object.Meta(obj).GetName()}, field: all[field]}
}

// entries are managed fields without their times, which the library takes from the machine.
func entries(t *testing.T, of []metav1.ManagedFieldsEntry) []string {
	t.Helper()
	var out []string
	for _, e := range of {
		if e.Time == nil {
			t.Errorf("an entry of %s has no time", e.Manager)
		}
		e.Time = nil
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(data))
	}
	return out
}
