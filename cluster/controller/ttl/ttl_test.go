package ttl

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	upstream "k8s.io/kubernetes/pkg/controller/ttl"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/upstreamtest"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func node(i int) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%03d", i)}}
}

// As a cluster grows beyond 100 nodes, shrinks below 90 and grows again, every node has the
// time that upstream's controller gives it once all of them have reported.
func TestTimesAreUpstreams(tt *testing.T) {
	sizes := []int{3, 100, 101, 90, 89, 100, 501}
	var here, there []map[string]int
	clienttest.Run(tt, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
		f := informer.NewFactory(p, p.Lane, c)
		New(reconcile.NewEnv(p, Name, Name, c, f, 1)).Start()
		f.Start()
		t.Sleep(time.Second)
		n := 0
		for _, size := range sizes {
			for ; n < size; n++ {
				clienttest.Must(client.Create(t, c, client.Nodes, "", node(n)))
			}
			for ; n > size; n-- {
				clienttest.Must(0, c.Delete(t, client.Nodes, "", node(n-1).Name, metav1.DeleteOptions{}))
			}
			t.Sleep(time.Second)
			for i := range n { // each reports
				is := clienttest.Must(client.Get[*corev1.Node](t, c, client.Nodes, "", node(i).Name))
				is.Labels = map[string]string{"size": fmt.Sprint(size)}
				clienttest.Must(client.Update(t, c, client.Nodes, "", is))
			}
			t.Sleep(10 * time.Minute)
			times := map[string]int{}
			for _, o := range b.Objects(client.Nodes) {
				times[o.(*corev1.Node).Annotations[corev1.ObjectTTLAnnotationKey]]++
			}
			here = append(here, times)
		}
		if n := len(b.Objects(client.Events)); n > 0 {
			tt.Errorf("%d Events", n)
		}
	})
	upstreamtest.Bubble(tt, nil, func(ctx context.Context, c *fake.Clientset, f informers.SharedInformerFactory) func(context.Context) {
		controller := upstream.NewTTLController(ctx, f.Core().V1().Nodes(), c)
		return func(ctx context.Context) { controller.Run(ctx, 1) }
	}, func(ctx context.Context, c *fake.Clientset) {
		nodes := c.CoreV1().Nodes()
		n := 0
		for _, size := range sizes {
			for ; n < size; n++ {
				clienttest.Must(nodes.Create(ctx, node(n), metav1.CreateOptions{}))
			}
			for ; n > size; n-- {
				clienttest.Must(0, nodes.Delete(ctx, node(n-1).Name, metav1.DeleteOptions{}))
			}
			time.Sleep(time.Second)
			for i := range n { // each reports
				is := clienttest.Must(nodes.Get(ctx, node(i).Name, metav1.GetOptions{}))
				is.Labels = map[string]string{"size": fmt.Sprint(size)}
				clienttest.Must(nodes.Update(ctx, is, metav1.UpdateOptions{}))
			}
			time.Sleep(10 * time.Minute)
			times := map[string]int{}
			for _, o := range clienttest.Must(nodes.List(ctx, metav1.ListOptions{})).Items {
				times[o.Annotations[corev1.ObjectTTLAnnotationKey]]++
			}
			there = append(there, times)
		}
	})
	if diff := cmp.Diff(there, here); diff != "" {
		tt.Errorf("-upstream +here:\n%s", diff)
	}
}

// Three nodes get their annotation once, and reports of theirs queue nothing.
func TestAnAnnotationThatIsRightQueuesNothing(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
		f := informer.NewFactory(p, p.Lane, c)
		New(reconcile.NewEnv(p, Name, Name, c, f, 1)).Start()
		f.Start()
		clienttest.Note(t, "three nodes, which report; then somebody writes another time onto one")
		for i := range 3 {
			clienttest.Must(client.Create(t, c, client.Nodes, "", node(i)))
		}
		for range 3 {
			t.Sleep(time.Minute)
			is := clienttest.Must(client.Get[*corev1.Node](t, c, client.Nodes, "", node(0).Name))
			is.Status.NodeInfo.KernelVersion += "x"
			clienttest.Must(client.UpdateStatus(t, c, client.Nodes, "", is))
		}
		is := clienttest.Must(client.Get[*corev1.Node](t, c, client.Nodes, "", node(0).Name))
		is.Annotations[corev1.ObjectTTLAnnotationKey] = "7"
		clienttest.Must(client.Update(t, c, client.Nodes, "", is))
		t.Sleep(time.Minute)
	})
	clienttest.Golden(t, "life.txt", b.Transcript(trace.ReconcileAction, trace.ReconcileEnd, trace.CommandStart))
}
