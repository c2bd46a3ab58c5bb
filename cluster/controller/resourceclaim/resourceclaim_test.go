package resourceclaim

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func start(b *clienttest.Bench) {
	c := b.Client()
	p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
	f := informer.NewFactory(p, p.Lane, c)
	New(reconcile.NewEnv(p, Name, Source, c, f, 1)).Start()
	f.Start()
}

func template(name string) *resourcev1.ResourceClaimTemplate {
	return &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name},
		Spec: resourcev1.ResourceClaimTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"of": name}}, Spec: resourcev1.ResourceClaimSpec{
			Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu"}}}},
		}},
	}
}

func pod(name string, claims ...corev1.PodResourceClaim) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}, Spec: corev1.PodSpec{ResourceClaims: claims}}
}

func ofTemplate(name, template string) corev1.PodResourceClaim {
	return corev1.PodResourceClaim{Name: name, ResourceClaimTemplateName: ptr.To(template)}
}

func named(name, claim string) corev1.PodResourceClaim {
	return corev1.PodResourceClaim{Name: name, ResourceClaimName: ptr.To(claim)}
}

// schedule is what the scheduler writes into a claim of a pod.
func schedule(claim *resourcev1.ResourceClaim, pod *corev1.Pod) {
	claim.Finalizers = []string{resourcev1.Finalizer}
	claim.Status.Allocation = &resourcev1.AllocationResult{}
	claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID})
}

// A pod waits for its template, gets a claim of it, and when it is over the claim goes; a
// claim that a person made for two pods stays, without its devices.
func TestClaimsOfAPod(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		start(b)
		clienttest.Note(t, "a pod whose template is not there, then the template")
		train := clienttest.Must(client.Create(t, c, client.Pods, "demo", pod("train", ofTemplate("gpu", "one-gpu"), named("shared", "shared"))))
		t.Sleep(30 * time.Millisecond)
		clienttest.Must(client.Create(t, c, client.ResourceClaimTemplates, "demo", template("one-gpu")))
		clienttest.Must(client.Create(t, c, client.ResourceClaims, "demo", &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shared"}}))
		t.Sleep(time.Minute)
		clienttest.Note(t, "the scheduler allocates and reserves both claims, the shared one for another pod too")
		other := clienttest.Must(client.Create(t, c, client.Pods, "demo", pod("other", named("shared", "shared"))))
		for _, o := range b.Objects(client.ResourceClaims) {
			claim := o.(*resourcev1.ResourceClaim).DeepCopy()
			schedule(claim, train)
			if claim.Name == "shared" {
				schedule(claim, other)
			}
			status := claim.Status
			claim = clienttest.Must(client.Update(t, c, client.ResourceClaims, "demo", claim))
			claim.Status = status
			clienttest.Must(client.UpdateStatus(t, c, client.ResourceClaims, "demo", claim))
		}
		t.Sleep(time.Minute)
		clienttest.Note(t, "the pod is over, then the other one is deleted")
		train = clienttest.Must(client.Get[*corev1.Pod](t, c, client.Pods, "demo", "train"))
		train.Status.Phase = corev1.PodSucceeded
		clienttest.Must(client.UpdateStatus(t, c, client.Pods, "demo", train))
		t.Sleep(time.Minute)
		clienttest.Must(0, c.Delete(t, client.Pods, "demo", "other", metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}))
		t.Sleep(time.Minute)
	})
	clienttest.Golden(t, "life.txt", b.Transcript(trace.ReconcileAction, trace.CommandStart, trace.EventRecorded))
	claims := b.Objects(client.ResourceClaims)
	if len(claims) != 1 || len(claims[0].(*resourcev1.ResourceClaim).Finalizers) > 0 {
		t.Errorf("these claims are left: %v", claims)
	}
}
