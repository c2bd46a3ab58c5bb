package endpoint_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/endpoint"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func service(name string, selector map[string]string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, Labels: map[string]string{"team": "a"}},
		Spec: corev1.ServiceSpec{
			ClusterIP: "10.96.0.10", IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, Selector: selector,
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8080)}},
		},
	}
}

func setReady(t *sim.Task, c client.Interface, n int, ready corev1.ConditionStatus) {
	p := clienttest.Must(client.Get[*corev1.Pod](t, c, client.Pods, "demo", fmt.Sprint("web-", n)))
	p.Status.PodIP = fmt.Sprint("10.244.0.", n)
	p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(t.Now())}}
	clienttest.Must(client.UpdateStatus(t, c, client.Pods, "demo", p))
}

func start(b *clienttest.Bench) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: "controller-manager"})
	f := informer.NewFactory(p, p.Lane, b.Client())
	endpoint.New(reconcile.NewEnv(p, endpoint.Name, endpoint.Source, b.Client(), f, 1)).Start()
	f.Start()
	return p
}

func shown(b *clienttest.Bench) string {
	var out strings.Builder
	for _, o := range b.Objects(client.Endpoints) {
		e := o.(*corev1.Endpoints)
		fmt.Fprintf(&out, "%s labels %v annotations %v\n", e.Name, e.Labels, e.Annotations)
		for _, s := range e.Subsets {
			fmt.Fprintf(&out, "  ready %s not ready %s ports", addresses(s.Addresses), addresses(s.NotReadyAddresses))
			for _, p := range s.Ports {
				fmt.Fprintf(&out, " %s %d/%s", p.Name, p.Port, p.Protocol)
			}
			out.WriteString("\n")
		}
	}
	return out.String()
}

func addresses(list []corev1.EndpointAddress) []string {
	out := []string{}
	for _, a := range list {
		out = append(out, a.IP+" "+a.TargetRef.Name+" on "+*a.NodeName)
	}
	return out
}

// The object of a Service follows its pods, comes back when somebody deletes it, and goes
// with its Service, also one that went while no controller ran. Those of a Service without
// a selector are left alone.
func TestLifeOfEndpoints(t *testing.T) {
	var states strings.Builder
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		p := start(b)
		show := func(what string) {
			t.Sleep(2 * time.Second)
			fmt.Fprintf(&states, "\n# %s\n%s", what, shown(b))
		}
		clienttest.Note(t, "a Service without pods, and one without a selector")
		clienttest.Must(client.Create(t, c, client.Services, "demo", service("web", map[string]string{"app": "web"})))
		clienttest.Must(client.Create(t, c, client.Services, "demo", service("db", nil)))
		show("no pods: an object without addresses; none for db")
		clienttest.Note(t, "two pods get addresses, one is ready")
		for n := 1; n <= 2; n++ {
			clienttest.Must(client.Create(t, c, client.Pods, "demo", &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: fmt.Sprint("web-", n), Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{NodeName: "node-1"}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
			}))
		}
		setReady(t, c, 1, corev1.ConditionTrue)
		setReady(t, c, 2, corev1.ConditionFalse)
		show("one ready, one not")
		clienttest.Note(t, "the first is deleted and takes its time")
		_ = c.Delete(t, client.Pods, "demo", "web-1", metav1.DeleteOptions{})
		show("it is in the object no more")
		clienttest.Note(t, "somebody deletes the object")
		_ = c.Delete(t, client.Endpoints, "demo", "web", metav1.DeleteOptions{})
		show("it is back")
		clienttest.Note(t, "the Service goes while no controller runs")
		p.Kill()
		_ = c.Delete(t, client.Services, "demo", "web", metav1.DeleteOptions{})
		show("the object stays")
		start(b)
		show("a new controller deletes it")
	})
	clienttest.Golden(t, "life.txt", b.Transcript(trace.ReconcileAction, trace.EventRecorded, trace.CommandStart)+states.String())
}
