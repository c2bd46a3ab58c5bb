// Package provisioner is the sidecar external-provisioner: it makes a volume for each claim
// that wants one of the driver's, and deletes the volumes that no claim has any more.
//
// The persistent volume binder of kube-controller-manager only says who is to make the volume:
// it writes the annotation volume.kubernetes.io/storage-provisioner on the claim. The sidecar
// sees its driver's name there, calls CreateVolume and writes a PersistentVolume that already
// names the claim; the binder then binds the two. A class with volumeBindingMode
// WaitForFirstConsumer has it wait until the scheduler has chosen a node for the first pod and
// has written that on the claim.
//
// The other way round, a PersistentVolume that is Released and whose reclaim policy is Delete
// has it call DeleteVolume and then delete the object, which a finalizer of the sidecar keeps
// until then, so that no disk is forgotten.
//
// Mirrors kubernetes-csi/external-provisioner v6 (pkg/controller) and its library
// sig-storage-lib-external-provisioner (controller). Simplified: ten workers a queue; no
// snapshots, clones, topology, storage capacities, secrets or migration from in-tree plugins;
// one copy runs, without a Lease. Start reading at [Provisioner.provision].
package provisioner

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/client/throttle"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/csi"
	"kviz/cluster/informer"
	"kviz/cluster/leaderelection"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "csi-provisioner runs as one copy without a Lease, with ten workers a queue, and knows no snapshots, clones, topology, storage capacities, secrets or migration from in-tree plugins",
})

// Name is the sidecar's name.
const Name = "csi-provisioner"

// Driver is the part of a driver's controller service that the sidecar calls.
type Driver interface {
	CreateVolume(t *sim.Task, about trace.Ref, r csi.CreateRequest, timeout time.Duration) (csi.Volume, error)
	DeleteVolume(t *sim.Task, about trace.Ref, id string, timeout time.Duration) error
}

// The annotations and finalizer of the API between binder, scheduler and provisioner
// (sig-storage-lib-external-provisioner controller.go).
const (
	annProvisioner     = "volume.kubernetes.io/storage-provisioner"
	annBetaProvisioner = "volume.beta.kubernetes.io/storage-provisioner"
	annSelectedNode    = "volume.kubernetes.io/selected-node"
	annProvisionedBy   = "pv.kubernetes.io/provisioned-by"
	annDeletionSecret  = "volume.kubernetes.io/provisioner-deletion-secret-name"
	annDeletionSpace   = "volume.kubernetes.io/provisioner-deletion-secret-namespace"
	finalizer          = "external-provisioner.volume.kubernetes.io/finalizer"
)

const (
	timeout    = 10 * time.Second // of a call (--timeout)
	retryStart = time.Second      // --retry-interval-start
	retryMax   = 5 * time.Minute  // --retry-interval-max
	workers    = 10
)

// limits are how fast it may send (--kube-api-qps, --kube-api-burst).
var limits = throttle.Limits{QPS: 5, Burst: 10}

// Provisioner is the sidecar.
type Provisioner struct {
	*reconcile.Env
	driver   Driver
	identity string // told to the driver's volumes

	claims, volumes, classes, attachments *informer.Informer
	claimQueue, volumeQueue               *reconcile.Loop
}

// Start starts the sidecar in a process, which waits for the first claim or volume.
func Start(p *sim.Process, c client.Interface, driver Driver, around func(string, reconcile.Sync) reconcile.Sync) {
	c = throttle.New(p, p.Lane, c, Name, limits)
	id := leaderelection.Identity(p)
	env := reconcile.NewEnv(p, Name, csi.Name+"_"+id, c, informer.NewFactory(p, p.Lane, c), workers)
	env.Around = around
	stamp := p.Kernel().Now().UnixMilli()
	s := &Provisioner{Env: env, driver: driver, identity: fmt.Sprintf("%d-%d-%s", stamp, p.Kernel().Rand(Name+" identity").IntN(10_000), csi.Name)}
	env.Process.Go("await", s.start)
}

func (s *Provisioner) start(t *sim.Task) {
	client.AwaitUseOf(t, s.Client, client.PersistentVolumeClaims, client.PersistentVolumes)
	s.claims, s.volumes = s.Informers.For(client.PersistentVolumeClaims), s.Informers.For(client.PersistentVolumes)
	s.classes, s.attachments = s.Informers.For(client.StorageClasses), s.Informers.For(client.VolumeAttachments)
	s.claimQueue = reconcile.NewLoop(s.Env, "claims", client.PersistentVolumeClaims, s.syncClaim)
	s.volumeQueue = reconcile.NewLoop(s.Env, "volumes", client.PersistentVolumes, s.syncVolume)
	for _, q := range []*reconcile.Loop{s.claimQueue, s.volumeQueue} {
		q.SetBaseDelay(retryStart)
		q.SetMaxDelay(retryMax)
	}
	// Upstream queues everything and looks when it is its turn; what cannot be its own is left out here.
	claim := func(t *sim.Task, obj runtime.Object) {
		if pvc := obj.(*corev1.PersistentVolumeClaim); pvc.Spec.VolumeName == "" && provisionerOf(pvc) == csi.Name {
			s.claimQueue.Add(t, informer.KeyOf(pvc))
		}
	}
	s.claims.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { claim(t, obj) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { claim(t, obj) },
	})
	volume := func(t *sim.Task, obj runtime.Object) {
		if pv := obj.(*corev1.PersistentVolume); pv.Annotations[annProvisionedBy] == csi.Name {
			s.volumeQueue.Add(t, pv.Name)
		}
	}
	s.volumes.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { volume(t, obj) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { volume(t, obj) },
	})
	s.claimQueue.Start(s.claims, s.volumes, s.classes)
	s.volumeQueue.Start(s.volumes, s.attachments)
	s.Informers.Start()
}

func provisionerOf(pvc *corev1.PersistentVolumeClaim) string {
	if name, ok := pvc.Annotations[annProvisioner]; ok {
		return name
	}
	return pvc.Annotations[annBetaProvisioner]
}

func (s *Provisioner) class(name string) (*storagev1.StorageClass, error) {
	obj, ok := s.classes.Get(name)
	if !ok {
		return nil, fmt.Errorf("storageclass.storage.k8s.io %q not found", name)
	}
	return obj.(*storagev1.StorageClass), nil
}

// classOf is the class that a claim names (component-helpers/storage/volume
// GetPersistentVolumeClaimClass).
func classOf(pvc *corev1.PersistentVolumeClaim) string {
	if name, ok := pvc.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return name
	}
	if pvc.Spec.StorageClassName != nil {
		return *pvc.Spec.StorageClassName
	}
	return ""
}
