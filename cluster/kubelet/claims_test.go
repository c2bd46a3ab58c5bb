package kubelet_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/csi"
	"kviz/cluster/kubelet"
	"kviz/cluster/registry"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// store is a node with the storage driver. The test stands in for the binder, the attach-detach
// controller and the attacher.
type store struct {
	*bench
	driver *csi.Service
}

func runStore(t *testing.T, main func(s *store)) *clienttest.Bench {
	return clienttest.Run(t, 1, func(cb *clienttest.Bench, t *sim.Task) {
		b := &bench{Bench: cb, t: t, reg: registry.New(cb.Kernel)}
		b.rt = runtime.New(cb.Kernel, b.reg, runtime.Config{Node: "node-1", PodCIDR: "10.244.1.0/24"})
		s := &store{b, csi.New(cb.Kernel, false)}
		yes := true
		clienttest.Must(client.Create(t, b.Client(), client.CSIDrivers, "", &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: csi.Name}, Spec: storagev1.CSIDriverSpec{AttachRequired: &yes}}))
		s.startKubelet()
		t.Sleep(2 * time.Second)
		main(s)
	})
}

func (s *store) startKubelet() {
	s.p = s.Kernel.NewProcess(trace.Lane{Component: trace.CompKubelet, Instance: "node-1"})
	s.kl = kubelet.Start(s.p, s.Client(), s.rt, kubelet.Config{Node: "node-1", Address: "192.168.0.11", PodCIDR: "10.244.1.0/24", Storage: s.driver.Node("node-1")})
}

// bound makes a claim that is bound to a new disk, and gives the disk's id.
func (s *store) bound(name string, modes ...corev1.PersistentVolumeAccessMode) string {
	v := clienttest.Must(s.driver.CreateVolume(s.t, trace.Ref{}, csi.CreateRequest{Name: "pv-" + name, Required: 2 << 20}, time.Minute))
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Mi")}
	pvc := clienttest.Must(client.Create(s.t, s.Client(), client.PersistentVolumeClaims, "demo", &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-" + name},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: size},
	}))
	clienttest.Must(client.Create(s.t, s.Client(), client.PersistentVolumes, "", &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, ClaimRef: &corev1.ObjectReference{Namespace: "demo", Name: name, UID: pvc.UID},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: csi.Name, VolumeHandle: v.ID}},
		},
	}))
	return v.ID
}

// node is the Node as the kubelet reports it.
func (s *store) node() *corev1.Node { return s.Object(client.Nodes, "", "node-1").(*corev1.Node) }

// attach is what controller and attacher do once the Node's status says that the volume is in use. Others are attached
// already.
func (s *store) attach(id string, others ...string) {
	name := corev1.UniqueVolumeName(csi.UniqueName(csi.Name, id))
	s.wait(id+" in use", func() bool { return slices.Contains(s.node().Status.VolumesInUse, name) })
	clienttest.Must(s.driver.ControllerPublishVolume(s.t, trace.Ref{}, id, "node-1", false, time.Minute))
	clienttest.Must(client.Create(s.t, s.Client(), client.VolumeAttachments, "", &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: csi.AttachmentName(csi.Name, id, "node-1")}, Status: storagev1.VolumeAttachmentStatus{Attached: true},
	}))
	attached := `{"name":"` + string(name) + `","devicePath":""}`
	for _, other := range others {
		attached += `,{"name":"` + csi.UniqueName(csi.Name, other) + `","devicePath":""}`
	}
	clienttest.Must(s.Client().Patch(s.t, client.Nodes, "", "node-1", types.StrategicMergePatchType, []byte(`{"status":{"volumesAttached":[`+attached+`]}}`), "status"))
}

const dataPod = `
metadata: {name: NAME}
spec:
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
  containers:
  - {name: app, image: busybox, command: [sh, -c, "SCRIPT; sleep 3600"], volumeMounts: [{name: data, mountPath: /data}]}
`

func (s *store) write(name, script string) {
	s.create(strings.NewReplacer("NAME", name, "SCRIPT", script).Replace(dataPod))
}

func (s *store) log(name string) string {
	c, ok := s.rt.Find("demo", name, "app")
	if !ok {
		return ""
	}
	lines, err := s.rt.Logs(c.ID)
	if err != nil {
		return err.Error()
	}
	var log []string
	for _, l := range lines {
		log = append(log, l.Text)
	}
	return strings.Join(log, "|")
}

func (s *store) warned() (all []string) {
	for _, e := range s.Events {
		if p, ok := e.Payload.(*trace.KubeEvent); ok && p.Type == corev1.EventTypeWarning && e.Kind == trace.EventRecorded && p.Count == 1 {
			all = append(all, p.Reason+": "+p.Message)
		}
	}
	return all
}

func (s *store) calls() string {
	var all []string
	for _, e := range s.Events {
		if p, ok := e.Payload.(*trace.StorageCall); ok && trace.StorageNodeCall(p.Call) && p.Error == "" {
			all = append(all, strings.TrimSuffix(strings.TrimPrefix(p.Call, "Node"), "Volume")+strings.TrimPrefix(p.Pod, "demo"))
		}
	}
	return strings.Join(all, " ")
}

// TestClaim: a pod waits until its claim is there and bound and its volume attached; the volume
// is staged once for two pods of a node, what one writes the other reads, also after the first is
// gone, and it is unstaged with the last.
func TestClaim(t *testing.T) {
	runStore(t, func(s *store) {
		s.write("first", "echo one > /data/f")
		s.t.Sleep(15 * time.Second)
		id := s.bound("data")
		s.t.Sleep(30 * time.Second)
		if c, ok := s.rt.Find("demo", "first", "app"); ok {
			t.Errorf("container %s was made before the volume was attached", c.Name)
		}
		s.attach(id)
		s.waitReady("first")
		s.write("second", "cat /data/f; echo two >> /data/f")
		s.waitReady("second")
		s.delete("first", 1)
		s.wait("first is gone", func() bool { return s.pod("first") == nil })
		s.write("third", "cat /data/f")
		s.waitReady("third")
		s.t.Sleep(time.Second)
		if got := s.log("second") + " " + s.log("third"); got != "one one|two" {
			t.Errorf("the pods read %q", got)
		}
		s.delete("second", 1)
		s.delete("third", 1)
		s.wait("no volume is in use", func() bool { return len(s.node().Status.VolumesInUse) == 0 })
		if got, want := s.calls(), "Stage Publish/first Publish/second Unpublish/first Publish/third Unpublish/second Unpublish/third Unstage"; got != want && got != strings.Replace(want, "Unpublish/second Unpublish/third", "Unpublish/third Unpublish/second", 1) {
			t.Errorf("the calls are %s, want %s", got, want)
		}
		warned := s.warned()
		want := `FailedMount: Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: error processing PVC demo/data: failed to fetch PVC from API server: persistentvolumeclaims "data" not found`
		if len(warned) != 1 || warned[0] != want {
			t.Errorf("the warnings are %q, want %q", warned, want)
		}
	})
}

// TestClaimOfTheNextPod: a pod is deleted and the next with its claim comes to the node at once, before the Node's status
// says anything new. That status says all the time that the volume is in use and attached, so the pod starts; whether
// another pod of the node has a volume or not.
func TestClaimOfTheNextPod(t *testing.T) {
	for _, beside := range []bool{false, true} {
		t.Run(map[bool]string{false: "alone", true: "beside another"}[beside], func(t *testing.T) {
			runStore(t, func(s *store) {
				id := s.bound("data")
				s.write("first", "true")
				s.attach(id)
				s.waitReady("first")
				if beside {
					other := s.bound("other")
					s.create(strings.ReplaceAll(strings.NewReplacer("NAME", "other", "SCRIPT", "true").Replace(dataPod), "claimName: data", "claimName: other"))
					s.attach(other, id)
					s.waitReady("other")
				}
				s.t.Sleep(time.Minute) // until the Node has nothing new to say
				before := s.node().ResourceVersion
				s.delete("first", 1)
				s.wait("first is gone", func() bool { return s.pod("first") == nil })
				s.write("second", "true")
				s.waitReady("second")
				if now := s.node().ResourceVersion; now != before {
					t.Errorf("the pod waited until the Node was written for another reason (%s, then %s)", before, now)
				}
			})
		})
	}
}

// TestClaimThatIsNotAttached: the pod's worker gives up after a while, says so, and begins again;
// a pod that is deleted meanwhile goes at once.
func TestClaimThatIsNotAttached(t *testing.T) {
	runStore(t, func(s *store) {
		id := s.bound("data")
		s.write("web", "true")
		s.t.Sleep(3 * time.Minute)
		want := `FailedMount: Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[data], failed to process volumes=[]: context deadline exceeded`
		if got := s.warned(); len(got) != 1 || got[0] != want {
			t.Errorf("the warnings are %q, want %q", got, want)
		}
		began := s.t.Elapsed()
		s.delete("web")
		s.wait("web is gone", func() bool { return s.pod("web") == nil })
		if took := s.t.Elapsed() - began; took > 5*time.Second {
			t.Errorf("the pod took %v to go", took)
		}
		s.wait("no volume is in use", func() bool { return len(s.node().Status.VolumesInUse) == 0 })
		if len(s.driver.Node("node-1").Staged()) > 0 || s.calls() != "" {
			t.Errorf("%s is mounted", id)
		}
	})
}

// TestClaimOfOnePod: a second pod cannot have a volume with ReadWriteOncePod.
func TestClaimOfOnePod(t *testing.T) {
	runStore(t, func(s *store) {
		id := s.bound("data", corev1.ReadWriteOncePod)
		s.write("first", "true")
		s.attach(id)
		s.waitReady("first")
		s.write("second", "true")
		s.t.Sleep(30 * time.Second)
		want := `FailedMount: MountVolume.SetUp failed for volume "pv-data" : volume uses the ReadWriteOncePod access mode and is already in use by another pod`
		if got := s.warned(); len(got) != 1 || got[0] != want || isReady(s.pod("second")) {
			t.Errorf("the warnings are %q, want %q", got, want)
		}
		s.delete("first", 1)
		s.waitReady("second")
	})
}

// TestFailingMount: what the driver answers is told in the step's words, and tried again.
func TestFailingMount(t *testing.T) {
	runStore(t, func(s *store) {
		id := s.bound("data")
		s.driver.Fail("stage")
		s.write("web", "true")
		s.attach(id)
		s.t.Sleep(3 * time.Second)
		s.driver.Heal()
		s.driver.Fail("publish")
		s.t.Sleep(5 * time.Second)
		s.driver.Heal()
		s.waitReady("web")
		want := []string{
			`FailedMount: MountVolume.MountDevice failed for volume "pv-data" : rpc error: code = Internal desc = the disk service failed: NodeStageVolume does not work`,
			`FailedMount: MountVolume.SetUp failed for volume "pv-data" : rpc error: code = Internal desc = the disk service failed: NodePublishVolume does not work`,
		}
		if got := s.warned(); !slices.Equal(got, want) {
			t.Errorf("the warnings are %q, want %q", got, want)
		}
		s.driver.Fail("unpublish")
		s.delete("web", 1)
		s.t.Sleep(time.Minute)
		if s.pod("web") == nil {
			t.Error("the pod is gone, and its volume is still published")
		}
		s.driver.Heal()
		s.wait("web is gone", func() bool { return s.pod("web") == nil })
	})
}

// TestClaimOutlivesTheKubelet: a restarted kubelet finds what is mounted, and unmounts what is of
// a pod that is gone.
func TestClaimOutlivesTheKubelet(t *testing.T) {
	runStore(t, func(s *store) {
		id := s.bound("data")
		s.write("web", "while true; do date > /data/now; sleep 1; done")
		s.attach(id)
		s.waitReady("web")
		s.p.Kill()
		s.startKubelet()
		s.t.Sleep(20 * time.Second)
		if !isReady(s.pod("web")) || s.pod("web").Status.ContainerStatuses[0].RestartCount > 0 || len(s.node().Status.VolumesInUse) != 1 {
			t.Errorf("after the kubelet's restart:\n%s", summary(s.pod("web")))
		}
		s.p.Kill()
		s.delete("web", 0)
		s.startKubelet()
		s.wait("no volume is in use", func() bool { return len(s.node().Status.VolumesInUse) == 0 })
		if n := s.driver.Node("node-1"); len(n.Staged())+len(n.Mounts()) > 0 {
			t.Errorf("%v are staged and %v published", n.Staged(), n.Mounts())
		}
	})
}

// TestReadOnlyAndParts: a claim that is read only, a mount that is, and a part of a volume.
func TestReadOnlyAndParts(t *testing.T) {
	runStore(t, func(s *store) {
		id := s.bound("data")
		s.create(`
metadata: {name: web}
spec:
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}, {name: ro, persistentVolumeClaim: {claimName: data, readOnly: true}}]
  containers:
  - name: app
    image: busybox
    command: [sh, -c, "echo x > /data/f; cat /ro/sub/f /r/sub/f; echo y > /ro/g; rm /r/sub/f; ls /all/sub; sleep 3600"]
    volumeMounts: [{name: data, mountPath: /data, subPath: sub}, {name: ro, mountPath: /ro}, {name: data, mountPath: /r, readOnly: true}, {name: data, mountPath: /all}]
`)
		s.attach(id)
		s.waitReady("web")
		s.t.Sleep(time.Second)
		if got, want := s.log("web"), "x|x|sh: can't create /ro/g: Read-only file system|rm: can't remove '/r/sub/f': Read-only file system|f"; got != want {
			t.Errorf("the container printed %q, want %q", got, want)
		}
	})
}

// TestExpandedClaim: a disk that has become larger is larger for its pod once the kubelet has
// looked, and the claim says so.
func TestExpandedClaim(t *testing.T) {
	runStore(t, func(s *store) {
		id := s.bound("data")
		s.write("web", "for i in 1 2 3 4; do dd if=/dev/zero of=/data/$i bs=1000000 count=1 2>/dev/null || echo full; sleep 100; done")
		s.attach(id)
		s.waitReady("web")
		s.t.Sleep(205 * time.Second)
		_, _, err := s.driver.ControllerExpandVolume(s.t, trace.Ref{}, id, 8<<20, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		pvc := s.Object(client.PersistentVolumeClaims, "demo", "data").(*corev1.PersistentVolumeClaim).DeepCopy()
		pvc.Status.AllocatedResources = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("8Mi")}
		pvc.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: corev1.PersistentVolumeClaimNodeResizePending}
		pvc.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue}}
		clienttest.Must(client.UpdateStatus(s.t, s.Client(), client.PersistentVolumeClaims, "demo", pvc))
		s.t.Sleep(195 * time.Second)
		pvc = s.Object(client.PersistentVolumeClaims, "demo", "data").(*corev1.PersistentVolumeClaim)
		if size := pvc.Status.Capacity[corev1.ResourceStorage]; size.String() != "8Mi" || len(pvc.Status.Conditions)+len(pvc.Status.AllocatedResourceStatuses) > 0 {
			t.Errorf("the claim has %s, %v and %v", size.String(), pvc.Status.AllocatedResourceStatuses, pvc.Status.Conditions)
		}
		if got := s.log("web"); got != "full" {
			t.Errorf("the container printed %q, want that its third file had no room, and the fourth had", got)
		}
	})
}
