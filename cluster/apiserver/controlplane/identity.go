package controlplane

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// KeepIdentity keeps the server's identity in a Lease while there are several.
func (c *Controllers) KeepIdentity(t *sim.Task) {
	collected := t.Elapsed()
	for ; ; t.Sleep(ReconcileEvery) {
		if !c.Several() {
			continue
		}
		t.SetCauses()
		_ = t.HandleCrashOn(trace.Ref{}, "the server's Lease", func() { c.renewIdentity(t) })
		if c.Leads() && t.Elapsed() >= collected+identityLease {
			collected = t.Elapsed()
			_ = t.HandleCrashOn(trace.Ref{}, "the Leases of servers that have gone", func() { c.collectIdentities(t) })
		}
	}
}

// identityLease is how long a server is known after it has gone, and how often it is
// looked for Leases that have run out (pkg/controlplane/apiserver
// IdentityLeaseDurationSeconds, IdentityLeaseGCPeriod).
const identityLease = time.Hour

// identityLabel marks a Lease as a server's identity.
const identityLabel = "apiserver.kubernetes.io/identity"

// collectIdentities deletes the Leases of servers that have gone
// (pkg/controlplane/controller/apiserverleasegc/gc_controller.go).
func (c *Controllers) collectIdentities(t *sim.Task) {
	leases, _, err := c.Client.List(t, client.Leases, metav1.NamespaceSystem, metav1.ListOptions{LabelSelector: identityLabel + "=kube-apiserver"})
	if err != nil {
		return // it is tried again in an hour
	}
	for _, obj := range leases {
		l := obj.(*coordinationv1.Lease)
		if l.Spec.RenewTime == nil || l.Spec.LeaseDurationSeconds == nil || l.Spec.RenewTime.Add(time.Duration(*l.Spec.LeaseDurationSeconds)*time.Second).Before(t.Now()) {
			_ = c.Client.Delete(t, client.Leases, metav1.NamespaceSystem, l.Name, metav1.DeleteOptions{}) // likewise
		}
	}
}

// renewIdentity renews the server's Lease in kube-system (APIServerIdentity), which
// tells clients which servers there are.
func (c *Controllers) renewIdentity(t *sim.Task) {
	name := "apiserver-" + c.Machine
	now := metav1.NewMicroTime(t.Now())
	lease, err := client.Get[*coordinationv1.Lease](t, c.Client, client.Leases, metav1.NamespaceSystem, name)
	if apierrors.IsNotFound(err) {
		_, _ = client.Create(t, c.Client, client.Leases, metav1.NamespaceSystem, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceSystem, Labels: map[string]string{
				identityLabel: "kube-apiserver", corev1.LabelHostname: c.Machine,
			}},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To(name), LeaseDurationSeconds: ptr.To(int32(identityLease / time.Second)), RenewTime: &now},
		})
		return
	}
	if err == nil {
		lease.Spec.RenewTime = &now
		_, _ = client.Update(t, c.Client, client.Leases, metav1.NamespaceSystem, lease) // it is tried again
	}
}
