package resourcequota_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/resourcequota"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func start(b *clienttest.Bench) {
	p := b.Kernel.NewProcess(trace.Lane{Component: "controller-manager"})
	f := informer.NewFactory(p, p.Lane, b.Client())
	resourcequota.New(reconcile.NewEnv(p, resourcequota.Name, resourcequota.Name, b.Client(), f, 1)).Start()
	f.Start()
}

func pod(name, cpu string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}}}
	p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	return p
}

func quota(name string, scopes []corev1.ResourceQuotaScope, pairs ...string) *corev1.ResourceQuota {
	hard := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		hard[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}, Spec: corev1.ResourceQuotaSpec{Hard: hard, Scopes: scopes}}
}

// A quota's life: it is counted when it is made, when what it counts ends, is
// resized or goes, when it asks for something else, and, as charges can be lost,
// every five minutes.
func TestQuotasAreCounted(tb *testing.T) {
	clienttest.Run(tb, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		start(b)
		for _, name := range []string{"a", "b", "c"} {
			clienttest.Must(client.Create(t, c, client.Pods, "demo", pod(name, "100m")))
		}
		clienttest.Must(client.Create(t, c, client.ConfigMaps, "demo", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "cm"}}))
		clienttest.Must(client.Create(t, c, client.Services, "demo", &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "svc"},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}, {Port: 81}}},
		}))
		t.Sleep(time.Minute)
		clienttest.Note(t, "two quotas, one for best-effort pods only")
		clienttest.Must(client.Create(t, c, client.ResourceQuotas, "demo", quota("all", nil,
			"pods", "4", "requests.cpu", "1", "count/pods", "9", "configmaps", "2", "count/deployments.apps", "1", "services.nodeports", "2")))
		clienttest.Must(client.Create(t, c, client.ResourceQuotas, "demo", quota("free", []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}, "pods", "1")))
		t.Sleep(time.Minute)
		clienttest.Note(t, "a pod succeeds: it is still an object, but no longer a pod that runs")
		p := clienttest.Must(client.Get[*corev1.Pod](t, c, client.Pods, "demo", "a"))
		p.Status.Phase = corev1.PodSucceeded
		clienttest.Must(client.UpdateStatus(t, c, client.Pods, "demo", p))
		t.Sleep(time.Minute)
		clienttest.Note(t, "a pod is deleted")
		zero := int64(0)
		_ = c.Delete(t, client.Pods, "demo", "b", metav1.DeleteOptions{GracePeriodSeconds: &zero})
		t.Sleep(time.Minute)
		clienttest.Note(t, "the quota allows more")
		q := clienttest.Must(client.Get[*corev1.ResourceQuota](t, c, client.ResourceQuotas, "demo", "all"))
		q.Spec.Hard["pods"] = resource.MustParse("6")
		clienttest.Must(client.Update(t, c, client.ResourceQuotas, "demo", q))
		t.Sleep(30 * time.Second)
		clienttest.Note(t, "a charge is lost: the status says more than there is")
		q = clienttest.Must(client.Get[*corev1.ResourceQuota](t, c, client.ResourceQuotas, "demo", "all"))
		q.Status.Used["pods"] = resource.MustParse("5")
		clienttest.Must(client.UpdateStatus(t, c, client.ResourceQuotas, "demo", q))
		t.Sleep(6 * time.Minute)
		clienttest.Golden(tb, "life.txt", b.Transcript(trace.ReconcileAction, trace.CommandStart))
	})
}
