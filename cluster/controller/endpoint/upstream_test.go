package endpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/kubernetes/pkg/controller/endpoint"
	"pgregory.net/rapid"

	"kviz/cluster/controller/services"
	"kviz/cluster/controller/services/servicestest"
	"kviz/raftstore/steady"
)

// From the same Service, the same pods and the same Endpoints, Kubernetes' own controller
// writes the same object, or none. It runs with one worker, which takes a Service that is
// gone after the one that is compared, and deletes the Endpoints of that.
func TestControllerIsUpstreams(t *testing.T) {
	const last = "last"
	steady.Check(t, func(r *rapid.T) {
		pods, svcs, have := servicestest.NewCache(), servicestest.NewCache(), servicestest.NewCache()
		done := make(chan struct{})
		c := &servicestest.Client{Deleted: func(name string) {
			if name == last {
				done <- struct{}{}
			}
		}}
		theirs := upstream.NewEndpointController(t.Context(), servicestest.PodInformer{Cache: pods}, servicestest.ServiceInformer{Cache: svcs}, servicestest.EndpointsInformer{Cache: have}, c, 0)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { theirs.Run(ctx, 1); close(ended) }()
		defer func() { cancel(); <-ended }()

		triggers := services.Triggers{}
		var old *corev1.Endpoints
		for round := range rapid.IntRange(1, 4).Draw(r, "rounds") {
			svc, behind := servicestest.Service(r, round), servicestest.Pods(r, round)
			svc.Spec.Selector = map[string]string{"app": "web"}
			if rapid.IntRange(0, 19).Draw(r, fmt.Sprint("many ", round)) == 0 {
				behind = many(behind, rapid.IntRange(900, 1300).Draw(r, fmt.Sprint("pods ", round)))
			}
			if rapid.IntRange(0, 4).Draw(r, fmt.Sprint("family ", round)) == 0 {
				svc.Spec.IPFamilies = rapid.SampledFrom([][]corev1.IPFamily{nil, {corev1.IPv6Protocol}, {corev1.IPv6Protocol, corev1.IPv4Protocol}}).Draw(r, fmt.Sprint("families ", round))
			}
			if rapid.IntRange(0, 5).Draw(r, fmt.Sprint("portless ", round)) == 0 {
				svc.Spec.Ports = nil
			}
			var objs []runtime.Object
			for i, p := range behind {
				p.Labels = map[string]string{"app": "web"}
				if i%4 == 0 && p.Status.PodIP != "" {
					p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: fmt.Sprintf("fd00::%x", i+1)})
				}
				for j := range p.Status.Conditions {
					p.Status.Conditions[j].LastTransitionTime = metav1.Unix(int64(1000+round*10+i%7), 0)
				}
				objs = append(objs, p)
			}
			mine := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: svc.Name, Labels: svc.Labels}}
			if old != nil {
				mine = old.DeepCopy()
			}
			want := planOf(svc, behind, mine, triggers.LastChange("demo/web", svc, behind))

			pods.Hold(objs...)
			svcs.Hold(svc)
			if have.Hold(); old != nil {
				have.Hold(old)
			}
			c.Endpoints = nil
			svcs.Came(svc)
			svcs.Came(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: last}})
			<-done
			var theirs *corev1.Endpoints
			if len(c.Endpoints) > 0 {
				theirs = c.Endpoints[0]
			}
			if a, b := text(want), text(theirs); a != b || len(c.Endpoints) > 1 {
				r.Fatalf("round %d, %d writes\ngot      %s\nupstream %s", round, len(c.Endpoints), a, b)
			}
			if want != nil {
				old = want
				old.Namespace, old.ResourceVersion = "demo", fmt.Sprint(100+round)
			}
		}
	})
}

// many are n pods like those that there are.
func many(like []*corev1.Pod, n int) []*corev1.Pod {
	var out []*corev1.Pod
	for i := range n {
		p := &corev1.Pod{}
		if len(like) > 0 {
			p = like[i%len(like)].DeepCopy()
		}
		p.Namespace, p.Name = "demo", fmt.Sprintf("web-%04d", i)
		if p.Status.PodIP != "" {
			p.Status.PodIP = fmt.Sprintf("10.245.%d.%d", i/250, i%250+1)
			p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
		}
		out = append(out, p)
	}
	return out
}

func text(e *corev1.Endpoints) string {
	if e == nil {
		return "nothing"
	}
	if len(e.Subsets) == 0 {
		e = e.DeepCopy()
		e.Subsets = nil
	}
	b, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return string(b)
}
