package persistentvolume_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/persistentvolume"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func start(b *clienttest.Bench) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
	f := informer.NewFactory(p, p.Lane, b.Client())
	persistentvolume.New(reconcile.NewEnv(p, persistentvolume.Name, persistentvolume.Source, b.Client(), f, 3)).Start()
	f.Start()
	return p
}

func size(s string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(s)}
}

// disk is a volume that nobody has.
func disk(name, capacity string, change ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size(capacity), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/mnt/" + name}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumePending},
	}
	for _, f := range change {
		f(v)
	}
	return v
}

// claim asks for a volume of no class.
func claim(name, request string, change ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: ptr.To(""),
			Resources: corev1.VolumeResourceRequirements{Requests: size(request)},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
	for _, f := range change {
		f(c)
	}
	return c
}

func class(name, provisioner string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode}
}

func ofClass(name *string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = name }
}

// world makes objects, and tests do more with them.
type world struct {
	t *sim.Task
	c client.Interface
}

func (w world) create(objs ...runtime.Object) {
	for _, o := range objs {
		switch o := o.(type) {
		case *corev1.PersistentVolume:
			clienttest.Must(client.Create(w.t, w.c, client.PersistentVolumes, "", o))
		case *corev1.PersistentVolumeClaim:
			clienttest.Must(client.Create(w.t, w.c, client.PersistentVolumeClaims, o.Namespace, o))
		case *storagev1.StorageClass:
			clienttest.Must(client.Create(w.t, w.c, client.StorageClasses, "", o))
		case *corev1.Pod:
			clienttest.Must(client.Create(w.t, w.c, client.Pods, o.Namespace, o))
		}
	}
}

func (w world) changeClaim(name string, fn func(*corev1.PersistentVolumeClaim)) {
	c := clienttest.Must(client.Get[*corev1.PersistentVolumeClaim](w.t, w.c, client.PersistentVolumeClaims, "demo", name))
	fn(c)
	clienttest.Must(client.Update(w.t, w.c, client.PersistentVolumeClaims, "demo", c))
}

func (w world) changeVolume(name string, fn func(*corev1.PersistentVolume)) {
	v := clienttest.Must(client.Get[*corev1.PersistentVolume](w.t, w.c, client.PersistentVolumes, "", name))
	fn(v)
	clienttest.Must(client.Update(w.t, w.c, client.PersistentVolumes, "", v))
}

func (w world) remove(r client.Resource, name string) {
	ns := ""
	if r.Namespaced {
		ns = "demo"
	}
	clienttest.Must(0, w.c.Delete(w.t, r, ns, name, metav1.DeleteOptions{}))
}

// tell runs a story and compares what the controller decided, recorded and left undone, and what
// there is at the end.
func tell(t *testing.T, golden string, main func(w world)) *clienttest.Bench {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		start(b)
		main(world{t, b.Client()})
	})
	var out strings.Builder
	out.WriteString(b.Transcript(trace.ReconcileAction, trace.EventRecorded, trace.Converged, trace.CommandStart))
	out.WriteString(waits(b))
	out.WriteString(state(b))
	clienttest.Golden(t, golden, out.String())
	return b
}

// waits are the sentences about what was left undone, each once.
func waits(b *clienttest.Bench) string {
	var lines []string
	for _, e := range b.Events {
		if r, ok := e.Payload.(*trace.Reconcile); ok && r.Waits != "" {
			if line := fmt.Sprintf("left undone: %s: %s\n", e.Object, r.Waits); !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return strings.Join(lines, "")
}

func state(b *clienttest.Bench) string {
	var out strings.Builder
	for _, o := range b.Objects(client.PersistentVolumes) {
		v := o.(*corev1.PersistentVolume)
		of := "nobody"
		if r := v.Spec.ClaimRef; r != nil {
			of = r.Namespace + "/" + r.Name
		}
		fmt.Fprintf(&out, "PersistentVolume %s: %s, of %s\n", v.Name, v.Status.Phase, of)
	}
	for _, o := range b.Objects(client.PersistentVolumeClaims) {
		c := o.(*corev1.PersistentVolumeClaim)
		has := c.Status.Capacity[corev1.ResourceStorage]
		fmt.Fprintf(&out, "PersistentVolumeClaim %s: %s, volume %q, capacity %s\n", c.Name, c.Status.Phase, c.Spec.VolumeName, has.String())
	}
	return out.String()
}

// The smallest volume that fits is the claim's, and the reasons against the others are said. After the
// claim a volume stays with its data, or goes.
func TestSmallestFit(t *testing.T) {
	tell(t, "smallest-fit.txt", func(w world) {
		clienttest.Note(w.t, "volumes of 4, 6 and 10Gi, and some that will not do for other reasons")
		w.create(disk("disk-4", "4Gi"), disk("disk-6", "6Gi"), disk("disk-10", "10Gi"),
			disk("shared", "5Gi", func(v *corev1.PersistentVolume) {
				v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany}
			}),
			disk("fast", "5Gi", func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = "fast" }),
			disk("raw", "5Gi", func(v *corev1.PersistentVolume) { v.Spec.VolumeMode = ptr.To(corev1.PersistentVolumeBlock) }))
		w.t.Sleep(time.Second)
		clienttest.Note(w.t, "a claim of 5Gi, and one of 20Gi with a selector")
		w.create(claim("data", "5Gi"), claim("big", "20Gi", func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
		}))
		w.t.Sleep(20 * time.Second)
		clienttest.Note(w.t, "a volume comes that has the labels: the next resync binds it")
		w.create(disk("gold", "20Gi", func(v *corev1.PersistentVolume) { v.Labels = map[string]string{"tier": "gold"} }),
			disk("tin", "20Gi", func(v *corev1.PersistentVolume) { v.Labels = map[string]string{"tier": "tin"} }))
		w.t.Sleep(20 * time.Second)
		clienttest.Note(w.t, "both claims go: the one volume is to be kept, the other to be deleted")
		w.changeVolume("disk-6", func(v *corev1.PersistentVolume) {
			v.Spec.PersistentVolumeReclaimPolicy, v.Spec.HostPath.Path = corev1.PersistentVolumeReclaimDelete, "/tmp/disk-6"
		})
		w.t.Sleep(time.Second)
		w.remove(client.PersistentVolumeClaims, "data")
		w.remove(client.PersistentVolumeClaims, "big")
		w.t.Sleep(time.Second)
		clienttest.Note(w.t, "a person has seen to the data")
		w.changeVolume("gold", func(v *corev1.PersistentVolume) { v.Spec.ClaimRef = nil })
		w.t.Sleep(time.Second)
	})
}

// A claim of a class that waits for its first pod, and then for a provisioner.
func TestFirstConsumer(t *testing.T) {
	tell(t, "first-consumer.txt", func(w world) {
		clienttest.Note(w.t, "a class that waits for the first pod, a volume of it, and a claim")
		w.create(class("standard", "disks.example.com", storagev1.VolumeBindingWaitForFirstConsumer),
			disk("ready", "5Gi", func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = "standard" }),
			claim("data", "5Gi", ofClass(ptr.To("standard"))))
		w.t.Sleep(time.Second)
		clienttest.Note(w.t, "a pod names the claim")
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}}
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		w.create(pod)
		w.t.Sleep(20 * time.Second)
		clienttest.Note(w.t, "the scheduler chooses a node where a new volume is to be made")
		w.changeClaim("data", func(c *corev1.PersistentVolumeClaim) {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, volume.AnnSelectedNode, "node-1")
		})
		w.t.Sleep(20 * time.Second)
		clienttest.Note(w.t, "the provisioner makes the volume")
		c := clienttest.Must(client.Get[*corev1.PersistentVolumeClaim](w.t, w.c, client.PersistentVolumeClaims, "demo", "data"))
		w.create(disk("pvc-1", "5Gi", func(v *corev1.PersistentVolume) {
			v.Annotations = map[string]string{volume.AnnDynamicallyProvisioned: "disks.example.com"}
			v.Spec.StorageClassName, v.Spec.PersistentVolumeReclaimPolicy = "standard", corev1.PersistentVolumeReclaimDelete
			v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disks.example.com", VolumeHandle: "1"}}
			v.Spec.ClaimRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: "demo", Name: "data", UID: c.UID}
		}))
		w.t.Sleep(time.Minute)
		clienttest.Note(w.t, "the claim goes, and the volume is the provisioner's to delete")
		w.remove(client.PersistentVolumeClaims, "data")
		w.t.Sleep(time.Minute)
	})
}

// Claims and volumes that name each other from the beginning, and those that lose each other.
func TestReservedAndLost(t *testing.T) {
	tell(t, "reserved-and-lost.txt", func(w world) {
		clienttest.Note(w.t, "a volume that is reserved for claim data, though a smaller one would do; a claim that names its volume")
		w.create(disk("small", "1Gi"), disk("mine", "9Gi", func(v *corev1.PersistentVolume) {
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "demo", Name: "data"}
		}))
		w.t.Sleep(time.Second)
		w.create(claim("data", "1Gi"), claim("asks", "1Gi", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "other" }))
		w.t.Sleep(time.Second)
		clienttest.Note(w.t, "its volume comes, too small, and another claim names a volume that is taken")
		w.create(disk("other", "1Mi"), claim("late", "1Gi", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "mine" }))
		w.t.Sleep(20 * time.Second)
		clienttest.Note(w.t, "data's volume is deleted, and comes again")
		w.remove(client.PersistentVolumes, "mine")
		w.t.Sleep(20 * time.Second)
		w.remove(client.PersistentVolumeClaims, "late")
		w.create(disk("mine", "9Gi"))
		w.t.Sleep(20 * time.Second)
		clienttest.Note(w.t, "two claims that say that they are bound to one volume")
		w.create(claim("thief", "1Gi", func(c *corev1.PersistentVolumeClaim) {
			c.Spec.VolumeName, c.Annotations = "mine", map[string]string{volume.AnnBindCompleted: "yes"}
		}))
		w.t.Sleep(time.Second)
		clienttest.Note(w.t, "a volume for a claim that has another")
		data := clienttest.Must(client.Get[*corev1.PersistentVolumeClaim](w.t, w.c, client.PersistentVolumeClaims, "demo", "data"))
		w.create(disk("second", "9Gi", func(v *corev1.PersistentVolume) {
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "demo", Name: "data", UID: data.UID}
			v.Annotations = map[string]string{volume.AnnBoundByController: "yes"}
		}))
		w.t.Sleep(time.Minute)
	})
}

// Classes: none, one that becomes the default, one that is not there, and those whose plugin
// Kubernetes does not have any more.
func TestClasses(t *testing.T) {
	tell(t, "classes.txt", func(w world) {
		clienttest.Note(w.t, "claims: without a word of a class, with none, of one that is not there, and of plugins")
		w.create(class("none", "kubernetes.io/no-provisioner", storagev1.VolumeBindingImmediate), class("path", "kubernetes.io/host-path", storagev1.VolumeBindingImmediate),
			class("ebs", "kubernetes.io/aws-ebs", storagev1.VolumeBindingImmediate))
		w.create(claim("silent", "1Gi", ofClass(nil)), claim("plain", "1Gi"), claim("gone", "1Gi", ofClass(ptr.To("missing"))),
			claim("none", "1Gi", ofClass(ptr.To("none"))), claim("path", "1Gi", ofClass(ptr.To("path"))), claim("ebs", "1Gi", ofClass(ptr.To("ebs"))))
		w.t.Sleep(time.Second)
		clienttest.Note(w.t, "a class becomes the default")
		usual := class("usual", "disks.example.com", storagev1.VolumeBindingImmediate)
		usual.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
		w.create(usual)
		w.t.Sleep(20 * time.Second)
	})
}

// What becomes of released volumes that no provisioner sees to.
func TestReclaim(t *testing.T) {
	tell(t, "reclaim.txt", func(w world) {
		clienttest.Note(w.t, "volumes to be recycled or deleted, and a claim for each")
		w.create(disk("recycled", "1Gi", func(v *corev1.PersistentVolume) {
			v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRecycle
		}))
		w.create(claim("recycled", "1Gi"))
		w.t.Sleep(time.Second)
		w.create(disk("elsewhere", "2Gi", func(v *corev1.PersistentVolume) {
			v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
		}), disk("local", "2Gi", func(v *corev1.PersistentVolume) {
			v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
			v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/mnt/ssd"}}
		}))
		w.create(claim("elsewhere", "2Gi"), claim("local", "2Gi"))
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}}
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "recycled"}}}}
		w.create(pod)
		w.t.Sleep(time.Minute)
		clienttest.Note(w.t, "the claims go, the pod somewhat later")
		for _, name := range []string{"recycled", "elsewhere", "local"} {
			w.remove(client.PersistentVolumeClaims, name)
		}
		w.t.Sleep(20 * time.Second)
		w.remove(client.Pods, "web")
		w.t.Sleep(20 * time.Second)
	})
}
