// Package storageprotection keeps storage from being deleted while it is in use: a
// PersistentVolumeClaim that a pod has mounted, a PersistentVolume that is bound to a
// claim, a VolumeAttributesClass that one of them names.
//
// The worked idea. The admission plugin StorageObjectInUseProtection gives every new
// claim the finalizer kubernetes.io/pvc-protection. So kubectl delete pvc data does
// not delete: the claim gets a deletionTimestamp and is Terminating, as long as the
// finalizer is there. This controller removes the finalizer when no pod uses the
// claim any more, and only then does the API server delete it.
//
// It first looks for such pods in its cache, which may be stale; before it removes
// the finalizer it asks the API server, because a wrong "nobody" loses data.
//
// It also records on a bound claim since when no pod has referred to it: the
// condition Unused.
//
// Mirrors pkg/controller/volume/{pvcprotection,pvprotection,vacprotection}. Simplified: each
// claim is checked by itself, without batching those of a namespace for one list of pods.
// Nothing is watched before the first claim, volume or class. Start reading at [Claims.Start],
// then claims.go sync.
package storageprotection

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "storage protection checks each claim by itself, without batching those of a namespace for one list of pods",
})

// The controllers' names.
const (
	ClaimsName  = "persistentvolumeclaim-protection-controller"
	VolumesName = "persistentvolume-protection-controller"
	ClassesName = "volumeattributesclass-protection-controller"
)

// The finalizers (pkg/volume/util/finalizer.go).
const (
	claimFinalizer  = "kubernetes.io/pvc-protection"
	volumeFinalizer = "kubernetes.io/pv-protection"
	classFinalizer  = "kubernetes.io/vac-protection"
)

// going reports whether an object is being deleted and this finalizer keeps it
// (protectionutil.IsDeletionCandidate).
func going(obj metav1.Object, finalizer string) bool {
	return obj.GetDeletionTimestamp() != nil && slices.Contains(obj.GetFinalizers(), finalizer)
}

// bare reports whether an object should have the finalizer and has not
// (protectionutil.NeedToAddFinalizer).
func bare(obj metav1.Object, finalizer string) bool {
	return obj.GetDeletionTimestamp() == nil && !slices.Contains(obj.GetFinalizers(), finalizer)
}

// setFinalizer writes an object, the controller's own copy, with the finalizer or
// without it.
func setFinalizer(run *reconcile.Run, c client.Interface, r client.Resource, obj runtime.Object, finalizer string, on bool) error {
	m := obj.(metav1.Object)
	if on {
		m.SetFinalizers(append(slices.Clip(m.GetFinalizers()), finalizer))
	} else {
		m.SetFinalizers(slices.DeleteFunc(m.GetFinalizers(), func(f string) bool { return f == finalizer }))
	}
	_, err := c.Update(run.T, r, m.GetNamespace(), obj, "")
	return err
}

// Volumes is the controller of PersistentVolumes.
type Volumes struct {
	*reconcile.Env
	volumes *informer.Informer
	loop    *reconcile.Loop
}

// NewVolumes makes the controller; Start starts it.
func NewVolumes(env *reconcile.Env) *Volumes { return &Volumes{Env: env} }

// Start waits for the first volume and then begins to work.
func (c *Volumes) Start() {
	c.Process.Go("await", func(t *sim.Task) {
		client.AwaitUseOf(t, c.Client, client.PersistentVolumes)
		c.volumes = c.Informers.For(client.PersistentVolumes)
		c.loop = reconcile.NewLoop(c.Env, "pvprotection", client.PersistentVolumes, c.sync)
		look := func(t *sim.Task, obj runtime.Object) {
			if m := obj.(metav1.Object); going(m, volumeFinalizer) || bare(m, volumeFinalizer) {
				c.loop.Add(t, informer.KeyOf(obj))
			}
		}
		c.volumes.AddHandler(informer.Handler{
			Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { look(t, obj) },
			Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { look(t, obj) },
		})
		c.loop.Start(c.volumes)
	})
}

// sync looks at one volume (processPV).
func (c *Volumes) sync(run *reconcile.Run) error {
	obj, ok := c.volumes.Get(run.Key)
	if !ok {
		return nil
	}
	pv := obj.(*corev1.PersistentVolume).DeepCopy()
	switch {
	case going(pv, volumeFinalizer) && pv.Status.Phase != corev1.VolumeBound:
		run.Act("update", client.RefOf(pv), nil, nil, "volume %s is to go and is bound to no claim: take the finalizer %s away", pv.Name, volumeFinalizer)
		return setFinalizer(run, c.Client, client.PersistentVolumes, pv, volumeFinalizer, false)
	case bare(pv, volumeFinalizer):
		run.Act("update", client.RefOf(pv), nil, nil, "volume %s is not protected: add the finalizer %s", pv.Name, volumeFinalizer)
		return setFinalizer(run, c.Client, client.PersistentVolumes, pv, volumeFinalizer, true)
	}
	return nil
}
