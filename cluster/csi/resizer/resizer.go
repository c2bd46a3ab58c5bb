// Package resizer is the sidecar external-resizer: it makes the volume of a claim larger that
// asks for more than it has.
//
// A claim grows in two steps. The sidecar calls ControllerExpandVolume, writes the new capacity
// into the PersistentVolume, and marks the claim FileSystemResizePending. The disk is larger
// then; the filesystem on it is not. The kubelet of the node where a pod has the volume calls
// NodeExpandVolume, and writes the claim's status.capacity. How far it has come is in
// status.allocatedResources and status.allocatedResourceStatuses all the while, so that a claim
// which asked for too much can ask for less again.
//
// Mirrors kubernetes-csi/external-resizer v2 (pkg/controller controller.go,
// expand_and_recover.go, resize_status.go). Simplified: ten workers; no VolumeAttributesClasses,
// offline expansion or secrets. Start reading at [Resizer.sync].
package resizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/client/throttle"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/csi"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "csi-resizer has ten workers, and knows no VolumeAttributesClasses, offline expansion or secrets",
})

// Name is the sidecar's name.
const Name = "csi-resizer"

// Driver is the part of a driver's controller service that the sidecar calls.
type Driver interface {
	ControllerExpandVolume(t *sim.Task, about trace.Ref, id string, required int64, timeout time.Duration) (capacity int64, nodeExpansion bool, err error)
}

const (
	annPreResize = "volume.alpha.kubernetes.io/pre-resize-capacity"
	timeout      = 10 * time.Second // of a call (--timeout)
	retryStart   = time.Second      // --retry-interval-start
	retryMax     = 5 * time.Minute  // --retry-interval-max
	workers      = 10               // --workers
)

// limits are how fast it may send (--kube-api-qps, --kube-api-burst).
var limits = throttle.Limits{QPS: 5, Burst: 10}

// Resizer is the sidecar.
type Resizer struct {
	*reconcile.Env
	driver          Driver
	claims, volumes *informer.Informer
	queue           *reconcile.Loop
}

// Start starts the sidecar in a process, which waits for the first claim.
func Start(p *sim.Process, c client.Interface, driver Driver, around func(string, reconcile.Sync) reconcile.Sync) {
	c = throttle.New(p, p.Lane, c, Name, limits)
	env := reconcile.NewEnv(p, Name, "external-resizer "+csi.Name, c, informer.NewFactory(p, p.Lane, c), workers)
	env.Around = around
	s := &Resizer{Env: env, driver: driver}
	env.Process.Go("await", s.start)
}

func (s *Resizer) start(t *sim.Task) {
	client.AwaitUseOf(t, s.Client, client.PersistentVolumeClaims)
	s.claims, s.volumes = s.Informers.For(client.PersistentVolumeClaims), s.Informers.For(client.PersistentVolumes)
	s.queue = reconcile.NewLoop(s.Env, csi.Name+"-pvc", client.PersistentVolumeClaims, s.sync)
	s.queue.SetBaseDelay(retryStart)
	s.queue.SetMaxDelay(retryMax)
	// Upstream queues every change; a claim that has what it asks for is left out here.
	look := func(t *sim.Task, obj runtime.Object) {
		if pvc := obj.(*corev1.PersistentVolumeClaim); grows(pvc) {
			s.queue.Add(t, informer.KeyOf(pvc))
		}
	}
	s.claims.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { look(t, obj) },
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			was, is := old.(*corev1.PersistentVolumeClaim), obj.(*corev1.PersistentVolumeClaim)
			if !grows(was) || !request(was).Equal(request(is)) || was.Status.Phase != is.Status.Phase {
				look(t, obj)
			}
		},
	})
	s.queue.Start(s.claims, s.volumes)
	s.Informers.Start()
}

func request(pvc *corev1.PersistentVolumeClaim) resource.Quantity {
	return pvc.Spec.Resources.Requests[corev1.ResourceStorage]
}

// grows reports whether a claim asks for more than it has (pvcNeedResize).
func grows(pvc *corev1.PersistentVolumeClaim) bool {
	if pvc.Status.Phase != corev1.ClaimBound {
		return false
	}
	want := request(pvc)
	return want.Cmp(pvc.Status.Capacity[corev1.ResourceStorage]) > 0
}

// sync looks at one claim (controller.go syncPVC, expand_and_recover.go expandAndRecover).
func (s *Resizer) sync(run *reconcile.Run) error {
	obj, ok := s.claims.Get(run.Key)
	if !ok {
		return nil
	}
	pvc := obj.(*corev1.PersistentVolumeClaim)
	if !grows(pvc) || pvc.DeletionTimestamp != nil {
		return nil
	}
	o, ok := s.volumes.Get(pvc.Spec.VolumeName)
	if !ok {
		return fmt.Errorf("persistentvolume %q not found", pvc.Spec.VolumeName)
	}
	pv := o.(*corev1.PersistentVolume)
	if pv.Spec.CSI == nil || pv.Spec.CSI.Driver != csi.Name || pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID != pvc.UID {
		return nil // another resizer's, or not bound both ways yet
	}
	want, size, has := request(pvc), request(pvc), pv.Spec.Capacity[corev1.ResourceStorage]
	switch at := pvc.Status.AllocatedResourceStatuses[corev1.ResourceStorage]; {
	case has.Cmp(want) >= 0 && (at == corev1.PersistentVolumeClaimNodeResizePending || at == corev1.PersistentVolumeClaimNodeResizeInProgress):
		run.Waits("the disk has %s, as the claim asks; its filesystem grows when the kubelet of a node where a pod has it calls NodeExpandVolume", has.String())
		return nil
	case at == corev1.PersistentVolumeClaimControllerResizeInProgress:
		if allocated := pvc.Status.AllocatedResources[corev1.ResourceStorage]; allocated.Cmp(has) > 0 && allocated.Cmp(want) < 0 {
			size = allocated // it is not known whether that succeeded: finish it first
		}
	}
	run.Act("expand", client.RefOf(pvc), size.String(), has.String(), "claim %s asks for %s and volume %s has %s: have the driver make %s larger", pvc.Name, want.String(), pv.Name, has.String(), pv.Spec.CSI.VolumeHandle)
	pvc, err := s.mark(run, pvc, size, corev1.PersistentVolumeClaimControllerResizeInProgress, s.condition(run, corev1.PersistentVolumeClaimResizing, ""))
	if err != nil {
		return err
	}
	s.Events.Event(run.T, pvc, corev1.EventTypeNormal, "Resizing", "External resizer is resizing volume %s", pv.Name)
	bytes, node, err := s.driver.ControllerExpandVolume(run.T, client.RefOf(pvc), pv.Spec.CSI.VolumeHandle, size.Value(), timeout)
	if err != nil {
		return s.failed(run, pvc, pv, err)
	}
	now := *resource.NewQuantity(bytes, resource.BinarySI)
	if err := s.setCapacity(run, pvc, pv, now, node); err != nil {
		return err
	}
	if !node {
		return s.finish(run, pvc, now)
	}
	if _, err := s.mark(run, pvc, size, corev1.PersistentVolumeClaimNodeResizePending, s.condition(run, corev1.PersistentVolumeClaimFileSystemResizePending,
		"Waiting for user to (re-)start a pod to finish file system resize of volume on node.")); err != nil {
		return err
	}
	s.Events.Event(run.T, pvc, corev1.EventTypeNormal, "FileSystemResizeRequired", "Require file system resize of volume on node")
	return nil
}

func (s *Resizer) condition(run *reconcile.Run, what corev1.PersistentVolumeClaimConditionType, message string) corev1.PersistentVolumeClaimCondition {
	return corev1.PersistentVolumeClaimCondition{Type: what, Status: corev1.ConditionTrue, LastTransitionTime: client.Now(run.T), Message: message}
}

// mark writes how far a claim's expansion is (markControllerResizeInProgress,
// markForPendingNodeExpansion).
func (s *Resizer) mark(run *reconcile.Run, pvc *corev1.PersistentVolumeClaim, size resource.Quantity, at corev1.ClaimResourceStatus, is corev1.PersistentVolumeClaimCondition) (*corev1.PersistentVolumeClaim, error) {
	pvc = pvc.DeepCopy()
	if pvc.Status.AllocatedResources == nil {
		pvc.Status.AllocatedResources = corev1.ResourceList{}
	}
	if pvc.Status.AllocatedResourceStatuses == nil {
		pvc.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{}
	}
	pvc.Status.AllocatedResources[corev1.ResourceStorage] = size
	pvc.Status.AllocatedResourceStatuses[corev1.ResourceStorage] = at
	csi.MergeResizeConditions(pvc, false, is)
	return client.UpdateStatus(run.T, s.Client, client.PersistentVolumeClaims, pvc.Namespace, pvc)
}

// failed writes why a disk did not grow (markControllerExpansionFailedCondition,
// markControllerExpansionInfeasible).
func (s *Resizer) failed(run *reconcile.Run, pvc *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume, err error) error {
	err = fmt.Errorf("resize volume %q by resizer %q failed: %w", pv.Name, csi.Name, err)
	s.Events.Event(run.T, pvc, corev1.EventTypeWarning, "VolumeResizeFailed", "%v", err)
	pvc = pvc.DeepCopy()
	csi.MergeResizeConditions(pvc, true, s.condition(run, corev1.PersistentVolumeClaimControllerResizeError, fmt.Sprintf("failed to expand pvc with %v", err)))
	var e *csi.Error
	if errors.As(err, &e) && (e.Code == "InvalidArgument" || e.Code == "OutOfRange" || e.Code == "NotFound") {
		pvc.Status.AllocatedResourceStatuses[corev1.ResourceStorage] = corev1.PersistentVolumeClaimControllerResizeInfeasible
	}
	_, e2 := client.UpdateStatus(run.T, s.Client, client.PersistentVolumeClaims, pvc.Namespace, pvc)
	return errors.Join(err, e2)
}

// setCapacity writes a volume's new size (updatePVCapacity), and the old one beside it until
// its filesystem has grown.
func (s *Resizer) setCapacity(run *reconcile.Run, pvc *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume, now resource.Quantity, node bool) error {
	was := pv.Spec.Capacity[corev1.ResourceStorage]
	if was.Cmp(now) >= 0 {
		return nil
	}
	change := map[string]any{"spec": map[string]any{"capacity": map[string]string{string(corev1.ResourceStorage): now.String()}}}
	if _, there := pv.Annotations[annPreResize]; node && !there {
		before := pvc.Status.Capacity[corev1.ResourceStorage]
		change["metadata"] = map[string]any{"annotations": map[string]string{annPreResize: before.String()}}
	}
	data, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = s.Client.Patch(run.T, client.PersistentVolumes, "", pv.Name, types.MergePatchType, data, "")
	if err != nil {
		return fmt.Errorf("can't patch PersistentVolume %q: %w", pv.Name, err)
	}
	return nil
}

// finish writes that a claim has what it asked for (markOverallExpansionAsFinished).
func (s *Resizer) finish(run *reconcile.Run, pvc *corev1.PersistentVolumeClaim, now resource.Quantity) error {
	pvc = pvc.DeepCopy()
	pvc.Status.Capacity[corev1.ResourceStorage] = now
	delete(pvc.Status.AllocatedResourceStatuses, corev1.ResourceStorage)
	csi.MergeResizeConditions(pvc, false)
	pvc, err := client.UpdateStatus(run.T, s.Client, client.PersistentVolumeClaims, pvc.Namespace, pvc)
	if err == nil {
		s.Events.Event(run.T, pvc, corev1.EventTypeNormal, "VolumeResizeSuccessful", "Resize volume succeeded")
	}
	return err
}
