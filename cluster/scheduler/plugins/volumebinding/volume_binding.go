// Package volumebinding is the VolumeBinding plugin: a pod with claims goes where its volumes
// are, and the volumes of claims that wait for their first pod are chosen, or asked for,
// where the pod goes.
//
// A claim whose class binds at once must be bound before its pod is scheduled; all nodes are
// rejected until it is. For one whose class is WaitForFirstConsumer each node is asked
// whether a volume is there (find.go), and the choice is reserved (assume.go). Before the
// pod is bound, the choice is written to the volume or the claim, and the binding waits until
// the controller of volumes, or a provisioner, has bound the claim (bind.go).
//
// Mirrors pkg/scheduler/framework/plugins/volumebinding. Simplified: a pod with nothing to bind is not scored,
// where upstream gives it 0 on every node; of equal volumes and capacities the first by name is taken, upstream's
// is any.
//
// Start reading at [VolumeBinding.PreFilter].
package volumebinding

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"kviz/cluster/client"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Scheduling, How: simulated.Simplified,
	What: "VolumeBinding takes the first by name of equal volumes, upstream any",
})

// Name is the plugin's name.
const Name = "VolumeBinding"

// Why nodes, or all of them, are rejected.
const (
	ErrReasonUnboundImmediate = "pod has unbound immediate PersistentVolumeClaims"
	ErrReasonBindConflict     = "node(s) didn't find available persistent volumes to bind"
	ErrReasonNodeConflict     = "node(s) didn't match PersistentVolume's node affinity"
	ErrReasonNotEnoughSpace   = "node(s) did not have enough free storage"
	ErrReasonPVNotExist       = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
)

// Storage is what the plugin needs to know of claims, volumes and drivers.
type Storage interface {
	Claim(namespace, name string) (*corev1.PersistentVolumeClaim, error)
	Volume(name string) (*corev1.PersistentVolume, error)
	// VolumesOf are the volumes of a class.
	VolumesOf(class string) []*corev1.PersistentVolume
	Classes() storagelisters.StorageClassLister
	// CSINode is what the drivers on a node say; nil if none does.
	CSINode(name string) *storagev1.CSINode
	// CSIDriver is nil if there is no object of the name.
	CSIDriver(name string) *storagev1.CSIDriver
	Capacities() []*storagev1.CSIStorageCapacity
}

// Cluster is what the plugin looks at while a binding waits.
type Cluster interface {
	NodeOf(name string) *corev1.Node
	PodOf(namespace, name string) *corev1.Pod
}

// VolumeBinding is the plugin.
type VolumeBinding struct {
	Storage Storage
	Cluster Cluster
	Client  client.Interface

	timeout time.Duration                  // how long a binding waits for its claims
	shape   []config.UtilizationShapePoint // what a node gets for how much is used

	volumes assumed[*corev1.PersistentVolume]
	claims  assumed[*corev1.PersistentVolumeClaim]

	affinities affinities
}

// New makes the plugin, whose choices nobody has reserved yet.
func New(s Storage, c Cluster, api client.Interface, args *config.VolumeBindingArgs) *VolumeBinding {
	pl := &VolumeBinding{Storage: s, Cluster: c, Client: api, timeout: seconds(args.BindTimeoutSeconds), shape: args.Shape, affinities: affinities{}}
	pl.volumes = newAssumed(func(key string) (*corev1.PersistentVolume, error) { return s.Volume(key) })
	pl.claims = newAssumed(func(key string) (*corev1.PersistentVolumeClaim, error) {
		namespace, name := split(key)
		return s.Claim(namespace, name)
	})
	return pl
}

// seconds is at most some years: what a configuration says need not fit into a duration.
func seconds(n int64) time.Duration { return time.Duration(min(n, 1<<30)) * time.Second }

// state is a pod's claims, and what was found for them on each node.
type state struct {
	bound []*corev1.PersistentVolumeClaim
	// waiting are the claims that wait for their first pod, and candidates the volumes of
	// their classes.
	waiting    []*corev1.PersistentVolumeClaim
	candidates map[string][]*corev1.PersistentVolume
	nodes      map[string]*choice
	// toScore is whether something was found that tells one node from another.
	toScore  bool
	allBound bool
}

// choice is what is done for the pod's claims if it goes to a node.
type choice struct {
	bindings   []binding
	provisions []provision
}

// binding is a claim and the volume that it gets.
type binding struct {
	claim  *corev1.PersistentVolumeClaim
	volume *corev1.PersistentVolume
}

// provision is a claim that gets a new volume; capacity is where its driver makes it, nil if that is not known.
type provision struct {
	claim    *corev1.PersistentVolumeClaim
	capacity *storagev1.CSIStorageCapacity
}

var (
	skip      = framework.NewStatus(Name, framework.Skip)
	immediate = framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, ErrReasonUnboundImmediate)
)

// Name is [Name].
func (*VolumeBinding) Name() string { return Name }

// SignPod: the volumes.
func (*VolumeBinding) SignPod(pod *corev1.Pod) ([]framework.SignFragment, *framework.Status) {
	return framework.SignVolumes(pod), nil
}

// PreFilter sorts the pod's claims, and rejects the pod if one does not exist, is lost or on
// its way out, or should be bound already.
func (pl *VolumeBinding) PreFilter(cs *framework.CycleState, pod *corev1.Pod, _ []*framework.NodeInfo) (*framework.PreFilterResult, *framework.Status) {
	if some, err := pl.usable(pod); err != nil {
		return nil, framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, err.Error())
	} else if !some {
		return nil, skip
	}
	s := &state{nodes: map[string]*choice{}}
	unbound, err := pl.sort(pod, s)
	switch {
	case err != nil:
		return nil, framework.AsStatus(Name, err)
	case unbound:
		return nil, immediate
	}
	cs.Write(Name, s)
	return nil, nil
}

// claimOf is the name of the claim that a volume of a pod is about, "" if none.
func claimOf(pod *corev1.Pod, v *corev1.Volume) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		return ephemeral.VolumeClaimName(pod, v)
	}
	return ""
}

// usable says what is wrong with the pod's claims, and whether it has any.
//
// Mirrors volume_binding.go podHasPVCs.
func (pl *VolumeBinding) usable(pod *corev1.Pod) (some bool, err error) {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.PersistentVolumeClaim == nil && v.Ephemeral == nil {
			continue
		}
		some = true
		name := claimOf(pod, v)
		claim, err := pl.Storage.Claim(pod.Namespace, name)
		switch {
		case apierrors.IsNotFound(err) && v.Ephemeral != nil:
			return some, fmt.Errorf("waiting for ephemeral volume controller to create the persistentvolumeclaim %q", name)
		case err != nil:
			return some, err
		case claim.Status.Phase == corev1.ClaimLost:
			return some, fmt.Errorf("persistentvolumeclaim %q bound to non-existent persistentvolume %q", claim.Name, claim.Spec.VolumeName)
		case claim.DeletionTimestamp != nil:
			return some, fmt.Errorf("persistentvolumeclaim %q is being deleted", claim.Name)
		case v.Ephemeral != nil:
			if err := ephemeral.VolumeIsForPod(pod, claim); err != nil {
				return some, err
			}
		}
	}
	return some, nil
}

// sort puts the pod's claims into its state; unbound is whether one should be bound already.
//
// Mirrors binder.go GetPodVolumeClaims.
func (pl *VolumeBinding) sort(pod *corev1.Pod, s *state) (unbound bool, err error) {
	for i := range pod.Spec.Volumes {
		name := claimOf(pod, &pod.Spec.Volumes[i])
		if name == "" {
			continue
		}
		claim, err := pl.claims.get(pod.Namespace + "/" + name)
		if err != nil {
			return false, fmt.Errorf("error getting PVC %q: %w", pod.Namespace+"/"+name, err)
		}
		if fullyBound(claim) {
			s.bound = append(s.bound, claim)
			continue
		}
		waits, err := volume.IsDelayBindingMode(claim, pl.Storage.Classes())
		if err != nil {
			return false, err
		}
		if !waits || claim.Spec.VolumeName != "" {
			unbound = true
			continue
		}
		s.waiting = append(s.waiting, claim)
	}
	for _, claim := range s.waiting {
		if s.candidates == nil {
			s.candidates = map[string][]*corev1.PersistentVolume{}
		}
		class := volume.GetPersistentVolumeClaimClass(claim)
		s.candidates[class] = pl.volumes.replace(pl.Storage.VolumesOf(class))
	}
	return unbound, nil
}

// fullyBound reports whether the controller of volumes is done with the claim.
func fullyBound(claim *corev1.PersistentVolumeClaim) bool {
	_, done := claim.Annotations[volume.AnnBindCompleted]
	return done && claim.Spec.VolumeName != ""
}

// Filter rejects a node that the pod's volumes cannot be reached from.
func (pl *VolumeBinding) Filter(cs *framework.CycleState, _ *corev1.Pod, node *framework.NodeInfo) *framework.Status {
	s := framework.Read[*state](cs, Name)
	if s == nil {
		return framework.AsStatus(Name, errors.New("reading \"VolumeBinding\" from cycleState: not found"))
	}
	c, reasons, err := pl.find(s, node.Node)
	switch {
	case err != nil:
		return framework.AsStatus(Name, err)
	case len(reasons) > 0:
		return framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, reasons...)
	}
	s.nodes[node.Node.Name] = c
	s.toScore = s.toScore || len(c.bindings) > 0 || len(c.provisions) > 0
	return nil
}
