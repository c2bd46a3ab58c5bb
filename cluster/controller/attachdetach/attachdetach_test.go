package attachdetach_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/attachdetach"
	"kviz/cluster/controller/attachdetach/attachtest"
	"kviz/cluster/csi"
	"kviz/cluster/sim"
)

// A volume comes to the node of a pod, and leaves it once the pod is gone and the node has
// unmounted it.
func TestAttachesAndDetaches(t *testing.T) {
	tell(t, "life.txt", func(b *clienttest.Bench, t *sim.Task, _ *disks, _ *sim.Process) {
		c := b.Client()
		clienttest.Note(t, "db comes to node-1, whose kubelet says that it uses data")
		clienttest.Must(client.Create(t, c, client.Pods, "demo", attachtest.Pod("db", "node-1", "data")))
		uses(t, c, "node-1", "data")
		t.Sleep(10 * time.Second)
		clienttest.Note(t, "the pod has ended; its volume is mounted still")
		attachtest.End(t, c, "db")
		t.Sleep(10 * time.Second)
		clienttest.Note(t, "it is not mounted any more")
		uses(t, c, "node-1")
		t.Sleep(10 * time.Second)
	})
}

// A second pod on another node has to wait for the first.
func TestMultiAttach(t *testing.T) {
	tell(t, "multi-attach.txt", func(b *clienttest.Bench, t *sim.Task, _ *disks, _ *sim.Process) {
		c := b.Client()
		clienttest.Must(client.Create(t, c, client.Pods, "demo", attachtest.Pod("first", "node-1", "data")))
		uses(t, c, "node-1", "data")
		t.Sleep(10 * time.Second)
		clienttest.Note(t, "a second pod, on node-2")
		clienttest.Must(client.Create(t, c, client.Pods, "demo", attachtest.Pod("second", "node-2", "data")))
		uses(t, c, "node-2", "data")
		t.Sleep(10 * time.Second)
		clienttest.Note(t, "the first has ended, and a third comes to node-2")
		attachtest.End(t, c, "first")
		clienttest.Must(client.Create(t, c, client.Pods, "demo", attachtest.Pod("third", "node-2", "data")))
		t.Sleep(time.Second)
		uses(t, c, "node-1")
		t.Sleep(10 * time.Second)
	})
}

// What a node that says nothing more has mounted is taken from it after six minutes.
func TestDeadNode(t *testing.T) {
	tell(t, "dead-node.txt", func(b *clienttest.Bench, t *sim.Task, _ *disks, _ *sim.Process) {
		c := b.Client()
		clienttest.Must(client.Create(t, c, client.Pods, "demo", attachtest.Pod("first", "node-1", "data")))
		uses(t, c, "node-1", "data")
		t.Sleep(10 * time.Second)
		clienttest.Note(t, "node-1 is not ready; its pod is deleted by force, and the next is on node-2")
		changeNode(t, c, "node-1", notReady)
		attachtest.End(t, c, "first")
		clienttest.Must(client.Create(t, c, client.Pods, "demo", attachtest.Pod("second", "node-2", "data")))
		t.Sleep(10 * time.Minute)
	})
}

// A person says that a node is off: nothing need be waited for.
func TestOutOfService(t *testing.T) {
	tell(t, "out-of-service.txt", func(b *clienttest.Bench, t *sim.Task, _ *disks, _ *sim.Process) {
		c := b.Client()
		clienttest.Must(client.Create(t, c, client.Pods, "demo", attachtest.Pod("first", "node-1", "data")))
		uses(t, c, "node-1", "data")
		t.Sleep(10 * time.Second)
		changeNode(t, c, "node-1", notReady)
		attachtest.End(t, c, "first")
		clienttest.Must(client.Create(t, c, client.Pods, "demo", attachtest.Pod("second", "node-2", "data")))
		t.Sleep(time.Minute)
		clienttest.Note(t, "kubectl taint node node-1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")
		taint(t, c, "node-1", corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute})
		t.Sleep(10 * time.Second)
	})
}

// Of a node that is deleted nobody says that it has unmounted anything.
func TestDeletedNode(t *testing.T) {
	tell(t, "deleted-node.txt", func(b *clienttest.Bench, t *sim.Task, _ *disks, _ *sim.Process) {
		c := b.Client()
		attachtest.Create(t, c, "log")
		clienttest.Must(client.Create(t, c, client.Pods, "demo", attachtest.Pod("first", "node-1", "data", "log")))
		uses(t, c, "node-1", "data", "log")
		t.Sleep(10 * time.Second)
		clienttest.Note(t, "node-1 has unmounted log when it is deleted; its pod goes, and the next is on node-2")
		uses(t, c, "node-1", "data")
		_ = c.Delete(t, client.Nodes, "", "node-1", metav1.DeleteOptions{})
		attachtest.End(t, c, "first")
		clienttest.Must(client.Create(t, c, client.Pods, "demo", attachtest.Pod("second", "node-2", "data", "log")))
		t.Sleep(10 * time.Minute)
		clienttest.Note(t, "a node of that name comes again, with a pod")
		clienttest.Must(client.Create(t, c, client.Nodes, "", attachtest.Node("node-1")))
		attachtest.Create(t, c, "more")
		clienttest.Must(client.Create(t, c, client.Pods, "demo", attachtest.Pod("third", "node-1", "more")))
		t.Sleep(10 * time.Second)
	})
}

// The controller is killed in the midst of an attach and of a detach, and finds again what it was
// about, and what became of it.
func TestStartsAgain(t *testing.T) {
	tell(t, "restart.txt", func(b *clienttest.Bench, t *sim.Task, d *disks, p *sim.Process) {
		c := b.Client()
		again := func() {
			p.Kill()
			t.Sleep(5 * time.Second)
			p = attachtest.Start(b)
			t.Sleep(10 * time.Second)
		}
		clienttest.Must(client.Create(t, c, client.Pods, "demo", attachtest.Pod("db", "node-1", "data")))
		uses(t, c, "node-1", "data")
		t.Sleep(300 * time.Millisecond)
		clienttest.Note(t, "killed while the disk is being attached")
		again()
		clienttest.Note(t, "killed while it is attached: it has nothing to do but say so")
		again()
		clienttest.Note(t, "the pod ends, and the volume is unmounted, while nobody looks")
		p.Kill()
		attachtest.End(t, c, "db")
		uses(t, c, "node-1")
		again()
		clienttest.Note(t, "a pod on node-2; killed while the disk is being attached, and the pod goes")
		clienttest.Must(client.Create(t, c, client.Pods, "demo", attachtest.Pod("other", "node-2", "data")))
		t.Sleep(300 * time.Millisecond)
		p.Kill()
		attachtest.End(t, c, "other")
		again()
		clienttest.Note(t, "the next status of node-2 says that it uses nothing")
		changeNode(t, c, "node-2", func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime = client.Now(t) })
		t.Sleep(10 * time.Second)
	})
}

// A driver that fails is asked again after 500 ms, 1 s, 2 s and so on; one that does not answer
// has two minutes.
func TestFailingDriver(t *testing.T) {
	tell(t, "failing.txt", func(b *clienttest.Bench, t *sim.Task, d *disks, _ *sim.Process) {
		c := b.Client()
		clienttest.Note(t, "every disk is broken")
		d.broken = "the cable is loose"
		clienttest.Must(client.Create(t, c, client.Pods, "demo", attachtest.Pod("db", "node-1", "data")))
		t.Sleep(20 * time.Second)
		clienttest.Note(t, "the disks work again, but slowly")
		d.broken, d.takes = "", 3*time.Minute
		t.Sleep(10 * time.Minute)
		clienttest.Note(t, "the pod goes, and they cannot detach either")
		d.broken, d.takes = "the cable is stuck", time.Second
		attachtest.End(t, c, "db")
		t.Sleep(20 * time.Second)
		clienttest.Note(t, "until they can")
		d.broken = ""
		t.Sleep(2 * time.Minute)
	})
}

// A volume of a driver that needs no attaching is not attached; one that has been is detached
// when the driver says so, and comes back when it says the contrary.
func TestDriversThatNeedNoAttaching(t *testing.T) {
	tell(t, "skip-attach.txt", func(b *clienttest.Bench, t *sim.Task, _ *disks, _ *sim.Process) {
		c := b.Client()
		says := func(required bool) {
			d := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: csi.Name}, Spec: storagev1.CSIDriverSpec{AttachRequired: ptr.To(required)}}
			if _, err := client.Create(t, c, client.CSIDrivers, "", d); err != nil {
				clienttest.Must(client.Update(t, c, client.CSIDrivers, "", d))
			}
			t.Sleep(10 * time.Second)
		}
		clienttest.Note(t, "attachRequired false, then a pod")
		says(false)
		clienttest.Must(client.Create(t, c, client.Pods, "demo", attachtest.Pod("db", "node-1", "data")))
		t.Sleep(10 * time.Second)
		clienttest.Note(t, "attachRequired true")
		says(true)
		clienttest.Note(t, "attachRequired false")
		says(false)
	})
}

// A claim that is bound, and a node that is there, only after the pod was bound; a
// VolumeAttachment that somebody deletes; a claim that was made for the pod.
func TestWhatComesLater(t *testing.T) {
	tell(t, "later.txt", func(b *clienttest.Bench, t *sim.Task, _ *disks, _ *sim.Process) {
		c := b.Client()
		clienttest.Note(t, "a pod whose claim is pending, on a node that is not there")
		claim, pv := attachtest.Bound("late")
		claim.Spec.VolumeName, claim.Status.Phase = "", corev1.ClaimPending
		claim = clienttest.Must(client.Create(t, c, client.PersistentVolumeClaims, "demo", claim))
		clienttest.Must(client.Create(t, c, client.Pods, "demo", attachtest.Pod("db", "node-3", "late")))
		t.Sleep(time.Second)
		claim.Spec.VolumeName = "late"
		claim = clienttest.Must(client.Update(t, c, client.PersistentVolumeClaims, "demo", claim))
		claim.Status.Phase = corev1.ClaimBound
		claim = clienttest.Must(client.UpdateStatus(t, c, client.PersistentVolumeClaims, "demo", claim))
		clienttest.Note(t, "the claim is bound; its volume comes")
		t.Sleep(time.Second)
		pv.Spec.ClaimRef.UID = claim.UID
		clienttest.Must(client.Create(t, c, client.PersistentVolumes, "", pv))
		t.Sleep(time.Second)
		clienttest.Note(t, "the node comes")
		clienttest.Must(client.Create(t, c, client.Nodes, "", attachtest.Node("node-3")))
		t.Sleep(10 * time.Second)
		clienttest.Note(t, "kubectl delete volumeattachment --all")
		for _, o := range b.Objects(client.VolumeAttachments) {
			_ = c.Delete(t, client.VolumeAttachments, "", o.(*storagev1.VolumeAttachment).Name, metav1.DeleteOptions{})
		}
		t.Sleep(10 * time.Second)
		clienttest.Note(t, "a pod with a claim that is made for it")
		own := attachtest.Pod("own", "node-1")
		own.Spec.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
		own = clienttest.Must(client.Create(t, c, client.Pods, "demo", own))
		claim, pv = attachtest.Bound("own-tmp")
		claim.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(own, client.Pods.GVK())}
		claim = clienttest.Must(client.Create(t, c, client.PersistentVolumeClaims, "demo", claim))
		pv.Spec.ClaimRef.UID = claim.UID
		clienttest.Must(client.Create(t, c, client.PersistentVolumes, "", pv))
		t.Sleep(10 * time.Second)
		clienttest.Note(t, "it has succeeded")
		own = clienttest.Must(client.Get[*corev1.Pod](t, c, client.Pods, "demo", "own"))
		own.Status.Phase = corev1.PodSucceeded
		clienttest.Must(client.UpdateStatus(t, c, client.Pods, "demo", own))
		t.Sleep(10 * time.Second)
	})
}

// Nobody reads names of pods of other namespaces.
func TestSharedVolumesAndOtherNamespaces(t *testing.T) {
	tell(t, "shared.txt", func(b *clienttest.Bench, t *sim.Task, _ *disks, _ *sim.Process) {
		c := b.Client()
		attachtest.Create(t, c, "shared")
		clienttest.Note(t, "pods on both nodes share a ReadWriteMany volume")
		clienttest.Must(client.Create(t, c, client.Pods, "demo", attachtest.Pod("one", "node-1", "shared")))
		clienttest.Must(client.Create(t, c, client.Pods, "demo", attachtest.Pod("two", "node-2", "shared")))
		t.Sleep(10 * time.Second)
		attachtest.End(t, c, "one")
		t.Sleep(10 * time.Second)
	})
}

// The name is a hash of what is attached where, as the kubelet and the driver compute it too.
func TestAttachmentName(t *testing.T) {
	if got, want := attachdetach.AttachmentName("disk", "pvc-1", "node-1"), attachdetach.AttachmentName("disk", "pvc-1", "node-2"); got == want || len(got) != 4+64 {
		t.Errorf("%s and %s", got, want)
	}
}
