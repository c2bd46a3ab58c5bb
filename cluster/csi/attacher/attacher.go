// Package attacher is the sidecar external-attacher: it attaches a driver's volumes to nodes,
// and detaches them.
//
// The attach-detach controller of kube-controller-manager decides which volume is to be at
// which node, and writes that as a VolumeAttachment. The sidecar carries it out: it calls
// ControllerPublishVolume and writes status.attached, upon which the controller tells the
// kubelet in Node.status.volumesAttached. To detach, the controller deletes the
// VolumeAttachment; a finalizer of the sidecar keeps it until ControllerUnpublishVolume has
// succeeded. The same finalizer on the PersistentVolume keeps that as long as it is attached
// somewhere.
//
// Mirrors kubernetes-csi/external-attacher v4 (pkg/controller csi_handler.go). Simplified: ten
// workers; no secrets, inline volumes, migration, nor the comparison with ListVolumes. Start
// reading at [Attacher.sync].
package attacher

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	What: "csi-attacher has ten workers, and knows no secrets, inline volumes, migration, or comparison with what the driver lists",
})

// Name is the sidecar's name.
const Name = "csi-attacher"

// Driver is the part of a driver's controller service that the sidecar calls.
type Driver interface {
	ControllerPublishVolume(t *sim.Task, about trace.Ref, id, node string, readOnly bool, timeout time.Duration) (device string, err error)
	ControllerUnpublishVolume(t *sim.Task, about trace.Ref, id, node string, timeout time.Duration) error
}

const (
	finalizer  = "external-attacher/disk-csi-kviz-dev" // util.go GetFinalizerName
	annNodeID  = "csi.alpha.kubernetes.io/node-id"
	timeout    = 15 * time.Second // of a call (--timeout)
	retryStart = time.Second      // --retry-interval-start
	retryMax   = 5 * time.Minute  // --retry-interval-max
	workers    = 10               // --worker-threads
)

// limits are how fast it may send (--kube-api-qps, --kube-api-burst).
var limits = throttle.Limits{QPS: 5, Burst: 10}

// Attacher is the sidecar.
type Attacher struct {
	*reconcile.Env
	driver Driver

	attachments, volumes, nodes *informer.Informer
	attach, release             *reconcile.Loop
}

// Start starts the sidecar in a process, which waits for the first VolumeAttachment.
func Start(p *sim.Process, c client.Interface, driver Driver, around func(string, reconcile.Sync) reconcile.Sync) {
	c = throttle.New(p, p.Lane, c, Name, limits)
	env := reconcile.NewEnv(p, Name, Name, c, informer.NewFactory(p, p.Lane, c), workers)
	env.Around = around
	s := &Attacher{Env: env, driver: driver}
	env.Process.Go("await", s.start)
}

func (s *Attacher) start(t *sim.Task) {
	client.AwaitUseOf(t, s.Client, client.VolumeAttachments)
	s.attachments, s.volumes, s.nodes = s.Informers.For(client.VolumeAttachments), s.Informers.For(client.PersistentVolumes), s.Informers.For(client.CSINodes)
	s.attach = reconcile.NewLoop(s.Env, "csi-attacher-va", client.VolumeAttachments, s.sync)
	s.release = reconcile.NewLoop(s.Env, "csi-attacher-pv", client.PersistentVolumes, s.syncVolume)
	for _, q := range []*reconcile.Loop{s.attach, s.release} {
		q.SetBaseDelay(retryStart)
		q.SetMaxDelay(retryMax)
	}
	s.attachments.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { s.look(t, obj) },
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			if !s.own(old, obj) {
				s.look(t, obj)
			}
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) {
			if name := obj.(*storagev1.VolumeAttachment).Spec.Source.PersistentVolumeName; name != nil {
				s.release.Add(t, *name)
			}
		},
	})
	volume := func(t *sim.Task, obj runtime.Object) {
		if pv := obj.(*corev1.PersistentVolume); pv.DeletionTimestamp != nil && slices.Contains(pv.Finalizers, finalizer) {
			s.release.Add(t, pv.Name)
		}
	}
	s.volumes.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { volume(t, obj) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { volume(t, obj) },
	})
	s.attach.Start(s.attachments, s.volumes, s.nodes)
	s.release.Start(s.attachments, s.volumes)
	s.Informers.Start()
}

func (s *Attacher) look(t *sim.Task, obj runtime.Object) {
	if va := obj.(*storagev1.VolumeAttachment); va.Spec.Attacher == csi.Name {
		s.attach.Add(t, va.Name)
	}
}

// own reports whether a change is what the sidecar itself writes: of a failure, where the
// back-off decides, not the change (util.go shouldEnqueueVAChange), and of a success, where
// nothing is left to do.
func (s *Attacher) own(old, obj runtime.Object) bool {
	was, is := old.(*storagev1.VolumeAttachment), obj.(*storagev1.VolumeAttachment)
	if is.ResourceVersion == was.ResourceVersion || is.UID != was.UID || is.DeletionTimestamp == nil && was.Status.Attached && !is.Status.Attached {
		return false
	}
	return is.DeletionTimestamp.Equal(was.DeletionTimestamp)
}

// sync looks at one VolumeAttachment (csi_handler.go SyncNewOrUpdatedVolumeAttachment).
func (s *Attacher) sync(run *reconcile.Run) error {
	obj, ok := s.attachments.Get(run.Key)
	if !ok {
		return nil
	}
	va := obj.(*storagev1.VolumeAttachment)
	if va.Spec.Attacher != csi.Name {
		return nil
	}
	if va.DeletionTimestamp == nil {
		if va.Status.Attached {
			return nil
		}
		return s.syncAttach(run, va)
	}
	if !slices.Contains(va.Finalizers, finalizer) {
		return nil
	}
	return s.syncDetach(run, va)
}

// syncAttach attaches, and writes what came of it (syncAttach).
func (s *Attacher) syncAttach(run *reconcile.Run, va *storagev1.VolumeAttachment) error {
	device, err := s.csiAttach(run, va)
	status := map[string]any{"attached": true, "attachError": nil, "attachmentMetadata": map[string]string{"devicePath": device}}
	if err != nil {
		status = map[string]any{"attachError": map[string]any{"message": err.Error(), "time": client.Now(run.T)}}
	}
	return errors.Join(err, s.patch(run, client.VolumeAttachments, va.Name, "status", map[string]any{"status": status}))
}

// csiAttach is csiAttach.
func (s *Attacher) csiAttach(run *reconcile.Run, va *storagev1.VolumeAttachment) (device string, err error) {
	name := va.Spec.Source.PersistentVolumeName
	if name == nil {
		return "", errors.New("VolumeAttachment.spec.persistentVolumeName is empty: inline volumes are not attached")
	}
	pv, err := s.volume(*name)
	switch {
	case err != nil:
		return "", err
	case pv.DeletionTimestamp != nil:
		return "", fmt.Errorf("PersistentVolume %q is marked for deletion", pv.Name)
	}
	run.Act("attach", client.RefOf(va), true, va.Status.Attached, "volume %s should be at node %s and is not attached: put the finalizer %s on it and on the VolumeAttachment, then have the driver attach %s", pv.Name, va.Spec.NodeName, finalizer, pv.Spec.CSI.VolumeHandle)
	if !slices.Contains(pv.Finalizers, finalizer) {
		if err := s.setFinalizer(run, pv, true); err != nil {
			return "", fmt.Errorf("could not add PersistentVolume finalizer: %w", err)
		}
	}
	id, err := s.nodeID(va.Spec.NodeName)
	if err != nil {
		return "", err
	}
	if !slices.Contains(va.Finalizers, finalizer) || va.Annotations[annNodeID] != id {
		meta := map[string]any{"annotations": map[string]string{annNodeID: id}, "finalizers": append(slices.Clone(va.Finalizers), finalizer)}
		if slices.Contains(va.Finalizers, finalizer) {
			delete(meta, "finalizers")
		}
		if err := s.patch(run, client.VolumeAttachments, va.Name, "", map[string]any{"metadata": meta}); err != nil {
			return "", fmt.Errorf("could not save VolumeAttachment: %w", err)
		}
	}
	return s.driver.ControllerPublishVolume(run.T, client.RefOf(va), pv.Spec.CSI.VolumeHandle, id, readOnly(pv), timeout)
}

// readOnly reports whether a volume is attached read only (csi_handler.go csiAttach, GetVolumeCapabilities).
func readOnly(pv *corev1.PersistentVolume) bool {
	return pv.Spec.CSI.ReadOnly || len(pv.Spec.AccessModes) > 0 && !slices.ContainsFunc(pv.Spec.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool { return m != corev1.ReadOnlyMany })
}

func (s *Attacher) volume(name string) (*corev1.PersistentVolume, error) {
	obj, ok := s.volumes.Get(name)
	if !ok {
		return nil, apierrors.NewNotFound(corev1.Resource("persistentvolume"), name)
	}
	pv := obj.(*corev1.PersistentVolume)
	if pv.Spec.CSI == nil {
		return nil, fmt.Errorf("PersistentVolume %q is not a CSI volume", name)
	}
	return pv, nil
}

// nodeID is what the driver calls a node (getNodeID).
func (s *Attacher) nodeID(node string) (string, error) {
	obj, ok := s.nodes.Get(node)
	if !ok {
		return "", fmt.Errorf("csinode.storage.k8s.io %q not found", node)
	}
	for _, d := range obj.(*storagev1.CSINode).Spec.Drivers {
		if d.Name == csi.Name {
			return d.NodeID, nil
		}
	}
	return "", fmt.Errorf("CSINode %s does not contain driver %s", node, csi.Name)
}

// syncDetach detaches, and lets the VolumeAttachment go (syncDetach, csiDetach).
func (s *Attacher) syncDetach(run *reconcile.Run, va *storagev1.VolumeAttachment) error {
	err := s.csiDetach(run, va)
	if err != nil {
		status := map[string]any{"detachError": map[string]any{"message": err.Error(), "time": client.Now(run.T)}}
		return errors.Join(err, s.patch(run, client.VolumeAttachments, va.Name, "status", map[string]any{"status": status}))
	}
	if va.Status.Attached {
		if err := s.patch(run, client.VolumeAttachments, va.Name, "status", map[string]any{"status": map[string]any{"attached": false, "detachError": nil, "attachmentMetadata": nil}}); err != nil {
			return err
		}
	}
	left := slices.DeleteFunc(slices.Clone(va.Finalizers), func(f string) bool { return f == finalizer })
	return s.patch(run, client.VolumeAttachments, va.Name, "", map[string]any{"metadata": map[string]any{"finalizers": left}})
}

func (s *Attacher) csiDetach(run *reconcile.Run, va *storagev1.VolumeAttachment) error {
	name := va.Spec.Source.PersistentVolumeName
	if name == nil {
		return nil
	}
	pv, err := s.volume(*name)
	if err != nil {
		return err
	}
	id := va.Annotations[annNodeID]
	if id == "" {
		if id, err = s.nodeID(va.Spec.NodeName); err != nil {
			return err
		}
	}
	run.Act("detach", client.RefOf(va), false, va.Status.Attached, "the VolumeAttachment is being deleted: have the driver detach %s from node %s, then take the finalizer away", pv.Spec.CSI.VolumeHandle, va.Spec.NodeName)
	return s.driver.ControllerUnpublishVolume(run.T, client.RefOf(va), pv.Spec.CSI.VolumeHandle, id, timeout)
}

// syncVolume lets a PersistentVolume go that is attached nowhere
// (SyncNewOrUpdatedPersistentVolume).
func (s *Attacher) syncVolume(run *reconcile.Run) error {
	obj, ok := s.volumes.Get(run.Key)
	if !ok {
		return nil
	}
	pv := obj.(*corev1.PersistentVolume)
	if pv.DeletionTimestamp == nil || !slices.Contains(pv.Finalizers, finalizer) {
		return nil
	}
	for _, o := range s.attachments.List() {
		if va := o.(*storagev1.VolumeAttachment); va.Spec.Source.PersistentVolumeName != nil && *va.Spec.Source.PersistentVolumeName == pv.Name {
			run.Waits("volume %s is still attached to node %s", pv.Name, va.Spec.NodeName)
			return nil // its end brings the volume back here
		}
	}
	run.Act("update", client.RefOf(pv), nil, nil, "volume %s is being deleted and is attached to no node: take the finalizer %s away", pv.Name, finalizer)
	return s.setFinalizer(run, pv, false)
}

// setFinalizer writes a volume with the finalizer or without it, unless somebody has changed it.
func (s *Attacher) setFinalizer(run *reconcile.Run, pv *corev1.PersistentVolume, on bool) error {
	list := slices.DeleteFunc(slices.Clone(pv.Finalizers), func(f string) bool { return f == finalizer })
	if on {
		list = append(list, finalizer)
	}
	return s.patch(run, client.PersistentVolumes, pv.Name, "", map[string]any{"metadata": map[string]any{"finalizers": list, "resourceVersion": pv.ResourceVersion}})
}

// patch is a JSON merge patch, as upstream sends it (util.go createMergePatch).
func (s *Attacher) patch(run *reconcile.Run, r client.Resource, name, subresource string, change map[string]any) error {
	data, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = s.Client.Patch(run.T, r, "", name, types.MergePatchType, data, subresource)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
