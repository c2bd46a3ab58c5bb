package controller_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/sim"
)

// BenchmarkDeployment runs a Deployment to completion on as many nodes as there
// are pods to five, with a Service before it, against the API server in memory.
// The time for each pod should hardly grow.
func BenchmarkDeployment(b *testing.B) {
	for _, pods := range []int32{100, 1000, 5000} {
		b.Run(fmt.Sprint(pods), func(b *testing.B) {
			for range b.N {
				deploy(b, pods)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(pods), "µs/pod")
		})
	}
}

func deploy(tb testing.TB, pods int32) {
	set := map[string]string{"app": "web"}
	quarter := intstr.FromString("25%")
	var done *appsv1.Deployment
	clienttest.Run(tb, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		start(b, "a")
		var names []string
		for n := range max(1, pods/5) {
			names = append(names, fmt.Sprintf("node-%d", n))
			clienttest.Must(client.Create(t, c, client.Nodes, "", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: names[n]}}))
		}
		(&clienttest.Nodes{Names: names, Start: 2 * time.Second}).Run(t.Process(), c)
		clienttest.Must(client.Create(t, c, client.Services, "demo", &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}, Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.1", Selector: set},
		}))
		clienttest.Must(client.Create(t, c, client.Deployments, "demo", &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"},
			Spec: appsv1.DeploymentSpec{
				Replicas: &pods, Selector: &metav1.LabelSelector{MatchLabels: set},
				Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &quarter, MaxUnavailable: &quarter}},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: set}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "web:1"}}}},
			},
		}))
		for done == nil || done.Status.AvailableReplicas < pods {
			if t.Elapsed() > 10*time.Minute {
				tb.Fatalf("after 10 minutes: %+v", done.Status)
			}
			t.Sleep(time.Second)
			done = b.Object(client.Deployments, "demo", "web").(*appsv1.Deployment)
		}
	})
}
