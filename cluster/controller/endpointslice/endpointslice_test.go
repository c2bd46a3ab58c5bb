package endpointslice_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/endpointslice"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

func service() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"},
		Spec: corev1.ServiceSpec{
			ClusterIP: "10.96.0.10", IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, Selector: map[string]string{"app": "web"},
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("http")}},
		},
	}
}

// pod is a pod on node-1 whose port named http is 8080.
func pod(n int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: fmt.Sprintf("web-%03d", n), Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{
			Name: "c", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

func setReady(t *sim.Task, c client.Interface, n int, ready bool) {
	p := clienttest.Must(client.Get[*corev1.Pod](t, c, client.Pods, "demo", fmt.Sprintf("web-%03d", n)))
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	p.Status.PodIP = fmt.Sprintf("10.244.%d.%d", n/200, n%200+1)
	p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(t.Now())}}
	clienttest.Must(client.UpdateStatus(t, c, client.Pods, "demo", p))
}

// resync is the longest period that kube-controller-manager's caches have.
const resync = 24 * time.Hour

func start(b *clienttest.Bench) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: "controller-manager"})
	f := informer.NewFactory(p, p.Lane, b.Client())
	f.Resync = resync
	endpointslice.New(reconcile.NewEnv(p, endpointslice.Name, endpointslice.Source, b.Client(), f, 1)).Start()
	f.Start()
	return p
}

func slices(b *clienttest.Bench) string {
	var out strings.Builder
	for _, o := range b.Objects(client.EndpointSlices) {
		s := o.(*discoveryv1.EndpointSlice)
		fmt.Fprintf(&out, "%s owner %s labels %v trigger %q\n", s.Name, s.OwnerReferences[0].Name, s.Labels, s.Annotations[corev1.EndpointsLastChangeTriggerTime])
		for _, p := range s.Ports {
			fmt.Fprintf(&out, "  port %s %d/%s\n", *p.Name, *p.Port, *p.Protocol)
		}
		for _, e := range s.Endpoints {
			fmt.Fprintf(&out, "  %s %s on %s: ready %v serving %v terminating %v\n", e.Addresses[0], e.TargetRef.Name, *e.NodeName, *e.Conditions.Ready, *e.Conditions.Serving, *e.Conditions.Terminating)
		}
	}
	return out.String()
}

func TestLifeOfASlice(t *testing.T) {
	var states strings.Builder
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		start(b)
		show := func(what string) {
			t.Sleep(2 * time.Second)
			fmt.Fprintf(&states, "\n# %s\n%s", what, slices(b))
		}
		clienttest.Must(client.Create(t, c, client.Nodes, "", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}))
		clienttest.Note(t, "a Service without pods")
		clienttest.Must(client.Create(t, c, client.Services, "demo", service()))
		show("no pods: a placeholder")
		clienttest.Note(t, "two pods, no addresses yet")
		clienttest.Must(client.Create(t, c, client.Pods, "demo", pod(1)))
		clienttest.Must(client.Create(t, c, client.Pods, "demo", pod(2)))
		t.Sleep(time.Second)
		clienttest.Note(t, "both get addresses, one is ready")
		setReady(t, c, 1, true)
		setReady(t, c, 2, false)
		show("one ready, one not")
		clienttest.Note(t, "the other is ready too; the first is deleted and takes its time")
		setReady(t, c, 2, true)
		_ = c.Delete(t, client.Pods, "demo", "web-001", metav1.DeleteOptions{})
		show("the first is terminating and still serves")
		clienttest.Note(t, "somebody deletes the slice")
		_ = c.Delete(t, client.EndpointSlices, "demo", b.Objects(client.EndpointSlices)[0].(*discoveryv1.EndpointSlice).Name, metav1.DeleteOptions{})
		show("it is back")
	})
	clienttest.Golden(t, "life.txt", b.Transcript(trace.ReconcileAction, trace.EventRecorded, trace.Converged, trace.CommandStart)+states.String())
}

// 250 pods need three slices; and of 250, 10 going and 10 coming change one.
func TestSlicesHoldAHundredAndChangeLittle(t *testing.T) {
	var sizes []int
	var updates int
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		clienttest.Must(client.Create(t, c, client.Nodes, "", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}))
		for n := range 250 {
			clienttest.Must(client.Create(t, c, client.Pods, "demo", pod(n)))
			setReady(t, c, n, true)
		}
		start(b)
		clienttest.Must(client.Create(t, c, client.Services, "demo", service()))
		t.Sleep(10 * time.Second)
		for _, o := range b.Objects(client.EndpointSlices) {
			sizes = append(sizes, len(o.(*discoveryv1.EndpointSlice).Endpoints))
		}
		before := b.Requests["update endpointslices"]
		setReady(t, c, 120, false)
		t.Sleep(10 * time.Second)
		updates = b.Requests["update endpointslices"] - before
	})
	if fmt.Sprint(sizes) != "[100 100 50]" || updates != 1 {
		t.Errorf("slices %v, want [100 100 50]; one pod's readiness took %d updates, want 1", sizes, updates)
	}
	_ = b
}

// The controller makes a slice while its watch starts over, and somebody
// deletes it before the list: the informer never saw it come or go, and nobody
// is woken. The resync comes, the cache still lacks what was written, a few
// retries wait for it, and then the slice is made again.
func TestASliceThatNobodySawIsMadeAgain(t *testing.T) {
	var states strings.Builder
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		start(b)
		clienttest.Must(client.Create(t, c, client.Nodes, "", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}))
		clienttest.Note(t, "the watch of slices ends, and its history is compacted, while the first slice is made")
		clienttest.Must(client.Create(t, c, client.Services, "demo", service()))
		b.EndWatchesOf(client.EndpointSlices)
		b.Compact()
		for len(b.Objects(client.EndpointSlices)) == 0 {
			t.Sleep(time.Millisecond)
		}
		clienttest.Note(t, "somebody deletes it")
		_ = c.Delete(t, client.EndpointSlices, "demo", b.Objects(client.EndpointSlices)[0].(*discoveryv1.EndpointSlice).Name, metav1.DeleteOptions{})
		t.Sleep(resync - time.Minute)
		fmt.Fprintf(&states, "\n# shortly before the resync\n%s", slices(b))
		t.Sleep(time.Hour)
		fmt.Fprintf(&states, "\n# an hour after it\n%s", slices(b))
	})
	clienttest.Golden(t, "unseen.txt", b.Transcript(trace.InformerRelist, trace.InformerResync, trace.ReconcileAction, trace.ReconcileEnd, trace.CommandStart)+states.String())
}

// Whatever happens to pods, slices and the controller, in the end the slices
// hold each pod with an address exactly once, as it is.
func TestConvergesFromAnything(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		ops := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 30).Draw(r, "ops")
		b := clienttest.Run(r, rapid.Uint64().Draw(r, "seed"), func(b *clienttest.Bench, t *sim.Task) {
			c := b.Client()
			p := start(b)
			clienttest.Must(client.Create(t, c, client.Nodes, "", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}))
			clienttest.Must(client.Create(t, c, client.Services, "demo", service()))
			exists := map[int]bool{}
			for n, op := range ops {
				k := n % 5
				switch {
				case op < 3 && !exists[k]:
					clienttest.Must(client.Create(t, c, client.Pods, "demo", pod(k)))
					exists[k] = true
				case op < 6 && exists[k]:
					setReady(t, c, k, op%2 == 0)
				case op == 6 && exists[k]:
					zero := int64(0)
					_ = c.Delete(t, client.Pods, "demo", fmt.Sprintf("web-%03d", k), metav1.DeleteOptions{GracePeriodSeconds: &zero})
					delete(exists, k)
				case op == 7:
					if s := b.Objects(client.EndpointSlices); len(s) > 0 {
						_ = c.Delete(t, client.EndpointSlices, "demo", s[0].(*discoveryv1.EndpointSlice).Name, metav1.DeleteOptions{})
					}
				case op == 8:
					p.Kill()
					p = start(b)
				case op == 9:
					b.EndWatches()
					b.Compact()
				default:
					t.Sleep(time.Duration(op) * time.Millisecond)
				}
			}
			// Longer than a resync and the retries after it: a slice that came
			// and went while the watch started over is known by nothing else.
			t.Sleep(resync + time.Hour)
		})
		want, have := map[string]bool{}, map[string]bool{}
		for _, o := range b.Objects(client.Pods) {
			if p := o.(*corev1.Pod); p.Status.PodIP != "" {
				want[fmt.Sprint(p.Name, p.Status.PodIP, p.Status.Conditions[0].Status == corev1.ConditionTrue)] = true
			}
		}
		n := 0
		for _, o := range b.Objects(client.EndpointSlices) {
			for _, e := range o.(*discoveryv1.EndpointSlice).Endpoints {
				have[fmt.Sprint(e.TargetRef.Name, e.Addresses[0], *e.Conditions.Ready)] = true
				n++
			}
		}
		if n != len(want) || fmt.Sprint(want) != fmt.Sprint(have) || len(b.Objects(client.EndpointSlices)) == 0 {
			r.Fatalf("pods %v\nslices %v", want, have)
		}
	})
}
