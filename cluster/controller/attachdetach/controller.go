// Package attachdetach is the attach-detach controller: it has the volumes of CSI drivers
// attached to the nodes whose pods want them, and detached from the others.
//
// The worked idea. The pod db-0 has been scheduled to node-1, and its claim is bound to the
// volume pvc-1 of the driver disk.csi.kviz.dev:
//
//  1. desired: pvc-1 belongs on node-1. actual: it is attached to no node. So the controller
//     creates a VolumeAttachment, whose name is the hash of volume, driver and node
//  2. the driver's external-attacher does what it takes and sets status.attached
//  3. the controller sees it, adds the volume to the node's status.volumesAttached, for which
//     the kubelet waits, and the pod gets the Event SuccessfulAttachVolume
//
// The way back is the harder one. When no pod on node-1 wants pvc-1 any more, it may still be
// mounted there, and what a node still writes to must not be taken away from it. The kubelet
// says so in the node's status.volumesInUse. As long as the volume is in there, the controller
// waits; if the node is not ready, for at most 6 minutes, after which it detaches by force. The
// taint node.kubernetes.io/out-of-service is a person's word that the node is off: then it
// detaches at once. Meanwhile a pod on another node that wants a ReadWriteOnce volume gets the
// Event FailedAttachVolume, and waits.
//
// All it remembers (desired.go, actual.go, operation.go) can be lost: after a restart
// status.volumesAttached, status.volumesInUse, the VolumeAttachments and the pods tell it again.
//
// Mirrors pkg/controller/volume/attachdetach with what pkg/volume/csi/csi_attacher.go does in
// it. Simplified: upstream looks at all volumes every 100 ms; here each waits in a queue, in which
// a change or the time that is next due puts it. Nothing is watched before the first
// PersistentVolume. Start reading at reconcile.go sync.
package attachdetach

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var (
	_ = simulated.Say(simulated.Statement{
		Area: simulated.Controllers, How: simulated.Simplified,
		What: "the attach-detach controller attaches volumes of CSI drivers only: not those of the plugins fc and iscsi, nor the old in-tree ones that upstream translates to CSI",
	})
	_ = simulated.Say(simulated.Statement{
		Area: simulated.Controllers, How: simulated.Simplified,
		What: "the attach-detach controller notices at once that a VolumeAttachment was deleted or lost status.attached, upstream's within a minute",
	})
)

// The controller's name, and where its Events come from, which is also its ServiceAccount.
const (
	Name   = "persistentvolume-attach-detach-controller"
	Source = "attachdetach-controller"
)

// MaxWaitForUnmount is how long a volume may stay mounted on a node that is not ready, before
// it is detached by force (TimerConfig.ReconcilerMaxWaitForUnmountDuration).
const MaxWaitForUnmount = 6 * time.Minute

// managedAnnotation is on the nodes whose kubelet leaves attaching to this controller
// (volumeutil.ControllerManagedAttachAnnotation).
const managedAnnotation = "volumes.kubernetes.io/controller-managed-attach-detach"

// Controller is the attach-detach controller.
type Controller struct {
	*reconcile.Env
	pods, nodes, claims, volumes, drivers, attachments *informer.Informer

	desired    *desired
	actual     *actual
	operations operations
	reports    reports
	// known are the volumes by the names of their VolumeAttachments.
	known map[string]name
	// populated are the revisions of the nodes that populate has seen, which the handlers hear of again.
	populated map[string]string

	loop *reconcile.Loop // volumes
	pvcs *reconcile.Loop
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	env.Workers = 1 // upstream's reconciler is one goroutine
	return &Controller{
		Env: env, desired: newDesired(), actual: newActual(), operations: operations{}, reports: reports{},
		known: map[string]name{}, populated: map[string]string{},
	}
}

// Start waits for the first volume and then begins to work.
func (c *Controller) Start() {
	c.Process.Go("await", func(t *sim.Task) {
		client.AwaitUseOf(t, c.Client, client.PersistentVolumes)
		c.watch(t)
	})
}

// watch learns what there is, and from then on what changes.
func (c *Controller) watch(t *sim.Task) {
	c.pods, c.nodes = c.Informers.For(client.Pods), c.Informers.For(client.Nodes)
	c.claims, c.volumes = c.Informers.For(client.PersistentVolumeClaims), c.Informers.For(client.PersistentVolumes)
	c.drivers, c.attachments = c.Informers.For(client.CSIDrivers), c.Informers.For(client.VolumeAttachments)
	c.pods.AddIndex(byClaim, claimsOf)
	c.loop = reconcile.NewLoop(c.Env, "attach_detach", client.PersistentVolumes, c.sync)
	c.loop.RefOf = func(key string) trace.Ref { return c.ref(name(key)) }
	c.pvcs = reconcile.NewLoop(c.Env, "pvcs", client.PersistentVolumeClaims, c.syncClaim)
	for _, i := range []*informer.Informer{c.pods, c.nodes, c.claims, c.volumes, c.drivers, c.attachments} {
		i.WaitForSync(t)
	}
	c.populate(t)
	c.handle()
	c.loop.Start()
	c.pvcs.Start()
}

// handle registers for changes. No request is sent in here, and nothing waits: between what
// populate found and these handlers nothing is lost.
func (c *Controller) handle() {
	c.pods.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.podChanged(t, obj.(*corev1.Pod)) },
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			was, is := old.(*corev1.Pod), obj.(*corev1.Pod)
			if was.UID != is.UID { // the deletion between them was not seen
				c.podGone(t, was)
			}
			c.podChanged(t, is)
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.podGone(t, obj.(*corev1.Pod)) },
	})
	c.nodes.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.nodeCame(t, obj.(*corev1.Node)) },
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			was, is := old.(*corev1.Node), obj.(*corev1.Node)
			if was.UID != is.UID {
				c.nodeCame(t, is)
				return
			}
			c.nodeChanged(t, was, is)
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.nodeGone(t, obj.(*corev1.Node)) },
	})
	claim := func(t *sim.Task, obj runtime.Object) { c.pvcs.Add(t, informer.KeyOf(obj)) }
	c.claims.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { claim(t, obj) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { claim(t, obj) },
	})
	c.volumes.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.volumeCame(t, obj.(*corev1.PersistentVolume)) },
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			if was, is := old.(*corev1.PersistentVolume), obj.(*corev1.PersistentVolume); !equality.Semantic.DeepEqual(was.Spec.ClaimRef, is.Spec.ClaimRef) {
				c.volumeCame(t, is)
			}
		},
	})
	driver := func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.driverChanged(t, obj.(*storagev1.CSIDriver).Name) }
	c.drivers.AddHandler(informer.Handler{
		Add: driver, Delete: driver,
		Update: func(t *sim.Task, old, obj runtime.Object, why trace.ID) {
			if skips(old.(*storagev1.CSIDriver)) != skips(obj.(*storagev1.CSIDriver)) {
				driver(t, obj, why)
			}
		},
	})
	attachment := func(t *sim.Task, obj runtime.Object) {
		if volume, ok := c.known[obj.(*storagev1.VolumeAttachment).Name]; ok && c.heeds(volume) {
			c.look(t, volume)
		}
	}
	c.attachments.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) {
			if says(obj.(*storagev1.VolumeAttachment)) {
				attachment(t, obj)
			}
		},
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			was, is := old.(*storagev1.VolumeAttachment), obj.(*storagev1.VolumeAttachment)
			if was.UID != is.UID || !equality.Semantic.DeepEqual(was.Status, is.Status) || (was.DeletionTimestamp == nil) != (is.DeletionTimestamp == nil) {
				attachment(t, obj)
			}
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { attachment(t, obj) },
	})
}

// heeds reports whether what the driver says of a volume makes a difference now: not while what has
// failed waits for its next try.
func (c *Controller) heeds(volume name) bool {
	return len(c.actual.confirmed(volume)) > 0 || slices.ContainsFunc(c.operations[volume], func(op *operation) bool { return op.pending })
}

// look has a volume looked at.
func (c *Controller) look(t *sim.Task, volume name) { c.loop.Add(t, string(volume)) }

// ref names what a run over a volume is about: the PersistentVolume, where one is known.
func (c *Controller) ref(volume name) trace.Ref {
	ref := client.PersistentVolumes.Ref("", c.called(volume))
	if pv := c.volumeOf(volume); pv != nil {
		ref.UID = string(pv.UID)
	}
	return ref
}

// called is a volume's name in sentences: the PersistentVolume's, where one is known.
func (c *Controller) called(volume name) string {
	if pv := c.volumeOf(volume); pv != nil {
		return pv.Name
	}
	if _, handle, ok := volume.split(); ok {
		return handle
	}
	return string(volume)
}

// volumeOf is the PersistentVolume as it was when somebody wanted it; nil if nobody has since
// the controller started.
func (c *Controller) volumeOf(volume name) *corev1.PersistentVolume {
	if pv := c.actual.volume(volume); pv != nil {
		return pv
	}
	for _, node := range c.desired.nodesOf(volume) {
		return c.desired.volumes[volume][node].volume
	}
	return nil
}
