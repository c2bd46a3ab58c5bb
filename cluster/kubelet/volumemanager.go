package kubelet

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	storagehelpers "k8s.io/component-helpers/storage/volume"

	"kviz/cluster/client"
	"kviz/cluster/csi"
	"kviz/cluster/folder"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// NodeService is the storage driver on the kubelet's node. It outlasts the kubelet.
type NodeService interface {
	NodeStageVolume(t *sim.Task, id, name, pod string, timeout time.Duration) error
	NodePublishVolume(t *sim.Task, m csi.Mount, timeout time.Duration) (*folder.Folder, error)
	NodeUnpublishVolume(t *sim.Task, m csi.Mount, timeout time.Duration) error
	NodeUnstageVolume(t *sim.Task, id, pod string, timeout time.Duration) error
	NodeExpandVolume(t *sim.Task, id, pod string, timeout time.Duration) (capacity int64, err error)
	Staged() []string
	Mounts() []csi.Mount
	// OnGrown sets the function that is called when a disk that is staged has become larger.
	OnGrown(fn func(id string))
}

// volumeManager is what the kubelet knows of the drivers' volumes on its node
// (pkg/kubelet/volumemanager): which its pods want, which are attached, which are mounted. It
// reads what is attached from the Node's status, and watches that from the first such volume to
// the last.
type volumeManager struct {
	kl      *Kubelet
	known   map[corev1.UniqueVolumeName]*nodeVolume
	changed sim.Cond           // something about a volume, or a pod that waits for one
	node    *informer.Informer // nil while no volume is wanted
	seen    trace.ID           // the watch event that brought the Node
}

// nodeVolume is a volume that pods of the node want or have.
type nodeVolume struct {
	name   corev1.UniqueVolumeName
	driver string
	handle string

	users      map[string]bool // UIDs of pods
	reported   bool            // the Node's status says that it is in use
	asked      bool            // its driver was looked up
	free       bool            // its driver's volumes need not be attached
	at         bool            // attached, as the Node's status says
	attachment trace.ID        // the watch event that said so
	busy       bool            // a pod's mount of it is going on
	fails      int
	next       time.Duration // when it is tried again
}

func unique(pv *corev1.PersistentVolume) corev1.UniqueVolumeName {
	return corev1.UniqueVolumeName(csi.UniqueName(pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle))
}

func (m *volumeManager) init(kl *Kubelet) {
	m.kl, m.known = kl, map[corev1.UniqueVolumeName]*nodeVolume{}
	if s := kl.cfg.Storage; s != nil {
		s.OnGrown(m.grown)
		for _, id := range s.Staged() { // by the kubelet before this one
			m.volume(csi.Name, id)
		}
	}
}

func (m *volumeManager) volume(driver, handle string) *nodeVolume {
	name := corev1.UniqueVolumeName(csi.UniqueName(driver, handle))
	v := m.known[name]
	if v == nil {
		v = &nodeVolume{name: name, driver: driver, handle: handle, users: map[string]bool{}}
		m.known[name] = v
	}
	return v
}

// want notes that a pod is to have a volume. The Node's next status says that it is in use, and
// only then it is looked at whether it is attached: so the attach-detach controller never
// detaches what a kubelet is about to mount.
func (m *volumeManager) want(w *worker, c *claimed) {
	m.volume(c.pv.Spec.CSI.Driver, c.pv.Spec.CSI.VolumeHandle).users[w.uid] = true
	if m.node == nil {
		kl := m.kl
		m.node = informer.New(kl.p, kl.p.Lane, kl.c, client.Nodes, "", informer.Options{FieldSelector: fields.OneTermEqualSelector("metadata.name", kl.cfg.Node).String()})
		look := func(_ *sim.Task, obj apiruntime.Object, why trace.ID) { m.look(obj.(*corev1.Node), why) }
		m.node.AddHandler(informer.Handler{
			Add:    look,
			Update: func(t *sim.Task, _, obj apiruntime.Object, why trace.ID) { look(t, obj, why) },
		})
		m.node.Start()
		return
	}
	if obj, ok := m.node.Get(m.kl.cfg.Node); ok { // it may have been attached for long
		m.look(obj.(*corev1.Node), m.seen)
	}
}

// look reads from the Node which volumes are attached.
func (m *volumeManager) look(node *corev1.Node, why trace.ID) {
	m.seen = why
	changed := false
	for name, v := range m.known {
		at := slices.ContainsFunc(node.Status.VolumesAttached, func(a corev1.AttachedVolume) bool { return a.Name == name })
		if at != v.at {
			v.at, changed = at, true
			v.attachment = why
		}
	}
	if changed {
		m.changed.Broadcast()
	}
}

// inUse are the volumes that the Node's status reports in use: from the decision to mount them
// until they are unmounted (GetVolumesInUse).
func (m *volumeManager) inUse() (names []corev1.UniqueVolumeName) {
	for name := range m.known {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// reported notes which volumes the Node's status now reports in use
// (MarkVolumesAsReportedInUse).
func (m *volumeManager) reported(names []corev1.UniqueVolumeName) {
	for _, name := range names {
		if v := m.known[name]; v != nil && !v.reported {
			v.reported = true
			m.changed.Broadcast()
		}
	}
}

// attached reports whether a volume can be mounted as far as the Node's status says
// (GenerateVerifyControllerAttachedVolumeFunc).
func (m *volumeManager) attached(t *sim.Task, v *nodeVolume) bool {
	if v.free || v.at && v.reported {
		return true
	}
	if !v.asked {
		required, err := m.kl.attachRequired(t, v.driver)
		v.asked, v.free = err == nil, err == nil && !required
	}
	return v.free || v.at && v.reported
}

// mount stages a volume if this has not been done and gives it to the pod. what is the step that
// failed (operation_generator.go GenerateMountVolumeFunc).
func (m *volumeManager) mount(t *sim.Task, w *worker, v *nodeVolume, c *claimed) (what string, err error) {
	kl, pod := m.kl, w.key()
	if !v.attachment.IsZero() && !v.free {
		t.SetCauses(append(slices.Clone(t.Causes()), v.attachment)...)
	}
	if err := storagehelpers.CheckNodeAffinity(c.pv, kl.node.labels); err != nil {
		return "MountVolume.NodeAffinity check failed", err
	}
	driver := kl.cfg.Storage
	if onePod(c.pv) && driver != nil && slices.ContainsFunc(driver.Mounts(), func(o csi.Mount) bool { return o.Volume == v.handle && o.PodUID != w.uid }) {
		return "MountVolume.SetUp failed", errors.New("volume uses the ReadWriteOncePod access mode and is already in use by another pod")
	}
	if !v.free {
		if err := kl.waitForAttach(t, c.pv); err != nil {
			return "MountVolume.WaitForAttach failed", err
		}
	}
	if v.driver != csi.Name || driver == nil {
		return "MountVolume.MountDevice failed", fmt.Errorf("kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: driver name %s not found in the list of registered CSI drivers", v.driver)
	}
	if !slices.Contains(driver.Staged(), v.handle) {
		if err := driver.NodeStageVolume(t, v.handle, c.pv.Name, pod, csiTimeout); err != nil {
			return "MountVolume.MountDevice failed", err
		}
	}
	files, err := driver.NodePublishVolume(t, csi.Mount{Volume: v.handle, PodUID: w.uid, Pod: pod, Name: c.pv.Name}, csiTimeout)
	if err != nil {
		return "MountVolume.SetUp failed", err
	}
	if err := w.expandClaim(t, c); err != nil {
		return "MountVolume.Setup failed while expanding volume", err
	}
	c.files = files
	return "", nil
}

// onePod reports whether only one pod may have a volume.
func onePod(pv *corev1.PersistentVolume) bool {
	return len(pv.Spec.AccessModes) == 1 && pv.Spec.AccessModes[0] == corev1.ReadWriteOncePod
}

// release unmounts what a pod has of the drivers' volumes, and from the node what no other pod
// has (reconciler_common.go unmountVolumes, unmountDetachDevices). A call that fails is tried
// again: until then the pod does not go.
func (m *volumeManager) release(t *sim.Task, uid, pod string) {
	driver := m.kl.cfg.Storage
	if driver != nil {
		for _, mount := range driver.Mounts() {
			if mount.PodUID == uid {
				m.again(t, func() error { return driver.NodeUnpublishVolume(t, mount, csiTimeout) })
			}
		}
	}
	for _, name := range m.inUse() {
		v := m.known[name]
		delete(v.users, uid)
		if len(v.users) > 0 || v.busy {
			continue
		}
		if driver != nil && v.driver == csi.Name && slices.Contains(driver.Staged(), v.handle) {
			if slices.ContainsFunc(driver.Mounts(), func(o csi.Mount) bool { return o.Volume == v.handle }) {
				continue // of a pod that this kubelet has not seen yet
			}
			v.busy = true
			m.again(t, func() error { return driver.NodeUnstageVolume(t, v.handle, pod, csiTimeout) })
			v.busy = false
		}
		if len(v.users) == 0 {
			delete(m.known, name) // the Node's next status says so
		}
	}
	if len(m.known) == 0 && m.node != nil {
		m.node.Stop()
		m.node = nil
	}
	m.changed.Broadcast()
}

// again repeats what fails, later each time.
func (m *volumeManager) again(t *sim.Task, do func() error) {
	for wait := mountRetryBase; do() != nil; wait = min(2*wait, mountRetryMax) {
		t.Sleep(wait)
	}
}

// left unmounts what is left of pods that ended while no kubelet ran.
func (m *volumeManager) left(t *sim.Task) {
	driver := m.kl.cfg.Storage
	if driver == nil {
		return
	}
	for _, mount := range driver.Mounts() {
		if m.kl.workers[mount.PodUID] == nil {
			m.release(t, mount.PodUID, mount.Pod)
		}
	}
	if slices.ContainsFunc(driver.Staged(), func(id string) bool { return len(m.volume(csi.Name, id).users) == 0 }) {
		m.release(t, "", "")
	}
}
