package view_test

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// stored is a cluster whose store got these objects, one after another.
func stored(objects ...runtime.Object) *view.State {
	var events []*trace.Event
	for i, o := range objects {
		ref := trace.Ref{APIVersion: "v1", Kind: reflect.TypeOf(o).Elem().Name()}
		m := o.(metav1.Object)
		ref.Namespace, ref.Name = m.GetNamespace(), m.GetName()
		events = append(events, because(trace.StoreCommit, &trace.Commit{
			Revision: int64(i + 1), Changes: []trace.KeyChange{{Object: ref, Version: 1, Value: &trace.Object{Value: o}}},
		}))
	}
	return tell(events...).h.Latest()
}

func labelled(namespace, name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
}

func selecting(selector map[string]string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}, Spec: corev1.ServiceSpec{Selector: selector}}
}

// A selector that matches no pod is answered with the pod that it most likely meant.
func TestTheNearestPodOfASelector(t *testing.T) {
	for name, c := range map[string]struct {
		selector map[string]string
		pods     []runtime.Object
		want     string
	}{
		"a letter is wrong": {
			map[string]string{"app": "wbe"},
			[]runtime.Object{labelled("demo", "cart", map[string]string{"app": "cart"}), labelled("demo", "web-1", map[string]string{"app": "web"})},
			"selector app=wbe matches no pod; nearest: pod demo/web-1 has app=web",
		},
		"the key is wrong": {
			map[string]string{"ap": "web"},
			[]runtime.Object{labelled("demo", "web-1", map[string]string{"app": "web"})},
			"selector ap=web matches no pod; nearest: pod demo/web-1 has app=web",
		},
		"another value of the key": {
			map[string]string{"app": "storefront"},
			[]runtime.Object{labelled("demo", "web-1", map[string]string{"app": "web"})},
			"selector app=storefront matches no pod; nearest: pod demo/web-1 has app=web",
		},
		"one of two terms is wrong": {
			map[string]string{"app": "web", "tier": "fornt"},
			[]runtime.Object{labelled("demo", "a", map[string]string{"tier": "front"}), labelled("demo", "web-1", map[string]string{"app": "web", "tier": "front"})},
			"selector app=web,tier=fornt matches no pod; nearest: pod demo/web-1 has tier=front",
		},
		"the namespace is wrong": {
			map[string]string{"app": "web"},
			[]runtime.Object{labelled("demo", "a", map[string]string{"role": "db"}), labelled("shop", "web-1", map[string]string{"app": "web"})},
			"selector app=web matches no pod; pod shop/web-1 has these labels, but a Service finds pods only in its own namespace",
		},
		"there is no pod": {map[string]string{"app": "web"}, nil, "selector app=web matches no pod; there is no pod in namespace demo"},
		"there is none":   {nil, nil, "it has no selector, so no controller looks for pods; somebody has to write its EndpointSlices"},
	} {
		s := stored(append(c.pods, selecting(c.selector))...)
		got := s.ReasonsOf(trace.Ref{APIVersion: "v1", Kind: "Service", Namespace: "demo", Name: "web"})
		if len(got) != 1 || got[0].Says != "Service demo/web has no endpoints: "+c.want {
			t.Errorf("%s: %+v\nwant %s", name, got, c.want)
		}
	}
}
