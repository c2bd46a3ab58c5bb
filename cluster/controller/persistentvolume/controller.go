// Package persistentvolume is the controller that binds PersistentVolumeClaims to
// PersistentVolumes, has volumes made for claims that find none, and gives volumes back
// when their claims are gone.
//
// The worked idea. A claim asks for 5Gi; there are volumes of 4, 6 and 10Gi. The first is
// too small; of the other two the smaller is nearer to what was asked. A claim and a
// volume point at each other, and nothing writes two objects at once, so binding is four
// writes, each of which can be the last before a crash:
//
//  1. the volume's spec: spec.claimRef, with the claim's UID; from here on nobody else gets it
//  2. the volume's status: phase Bound
//  3. the claim's spec: spec.volumeName, and the annotation that the binding is complete
//  4. the claim's status: phase Bound, capacity and access modes
//
// Whatever is missing, a later look at either of the two writes it. A claim that finds no
// volume, and whose class has a provisioner, gets the provisioner's name as an annotation;
// an external provisioner makes a volume with the claim's name in it, and the rest is the
// same as above. A claim whose class is WaitForFirstConsumer is left alone until the
// scheduler has chosen a node for its first pod, and with it a volume or the place for a
// new one.
//
// What the controller has written it keeps in a cache of its own (cache.go), since the
// informers are behind it: with their state it would bind a volume twice.
//
// Every 15 s it looks again at each claim and each volume that is not settled: nothing else
// brings a waiting claim to a volume that comes later.
//
// Mirrors pkg/controller/volume/persistentvolume. Simplified: see the statements below. Start
// reading at claim.go syncUnbound.
package persistentvolume

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/storage/ephemeral"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "of equal volumes a claim gets the first by name, upstream's any; the resync of claims and volumes, every 15 s, looks at those that are not settled, upstream's at all",
})

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simulated,
	What: "a hostPath or NFS volume with the reclaim policy Recycle is Available again at once, without a pod that empties it",
	Seen: "files that were in it are there for the next claim",
})

// The controller's name, its ServiceAccount, and where its Events come from.
const (
	Name    = "persistentvolume-binder-controller"
	Account = "persistent-volume-binder"
	Source  = "persistentvolume-controller"
)

// resyncPeriod is how often what is not settled is looked at again
// (--pvclaimbinder-sync-period).
const resyncPeriod = 15 * time.Second

// Indexes of informers: pods by the claims that they name, claims by their volume.
const (
	podsByClaim    = "claim"
	claimsByVolume = "volume"
)

// Controller is the binder.
type Controller struct {
	*reconcile.Env
	claims, volumes, classes, pods *informer.Informer
	claimLoop, volumeLoop          *reconcile.Loop

	cache      *cache // what there is, with the controller's own writes
	operations operations
	open       open
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	// Each queue has exactly one worker, however many other controllers have: two of them
	// could give a volume to two claims.
	env.Workers = 1
	return &Controller{Env: env, cache: newCache(), operations: operations{}, open: newOpen()}
}

// Start waits for the first claim or volume and then begins to work.
func (c *Controller) Start() {
	c.Process.Go("await", func(t *sim.Task) {
		client.AwaitUseOf(t, c.Client, client.PersistentVolumeClaims, client.PersistentVolumes)
		c.watch()
		for _, i := range []*informer.Informer{c.volumes, c.claims, c.classes, c.pods} {
			i.WaitForSync(t)
		}
		c.fill()
		c.volumeLoop.Start()
		c.claimLoop.Start()
		c.resync(t)
	})
}

func (c *Controller) watch() {
	c.claims, c.volumes = c.Informers.For(client.PersistentVolumeClaims), c.Informers.For(client.PersistentVolumes)
	c.classes, c.pods = c.Informers.For(client.StorageClasses), c.Informers.For(client.Pods)
	c.pods.AddIndex(podsByClaim, claimsOf)
	c.claims.AddIndex(claimsByVolume, func(obj runtime.Object) []string {
		if v := obj.(*corev1.PersistentVolumeClaim).Spec.VolumeName; v != "" {
			return []string{v}
		}
		return nil
	})
	c.volumeLoop = reconcile.NewLoop(c.Env, "volumes", client.PersistentVolumes, c.volume)
	c.claimLoop = reconcile.NewLoop(c.Env, "claims", client.PersistentVolumeClaims, c.claim)
	c.volumes.AddHandler(queues(c.volumeLoop))
	c.claims.AddHandler(queues(c.claimLoop))
}

// queues has the object looked at that something happened to (enqueueWork).
func queues(loop *reconcile.Loop) informer.Handler {
	add := func(t *sim.Task, obj runtime.Object) { loop.Add(t, informer.KeyOf(obj)) }
	return informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { add(t, obj) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { add(t, obj) },
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { add(t, obj) },
	}
}

// fill has the cache hold everything before the first claim is looked at (initializeCaches).
func (c *Controller) fill() {
	for _, obj := range c.volumes.List() {
		c.cache.storeVolume(obj.(*corev1.PersistentVolume).DeepCopy())
	}
	for _, obj := range c.claims.List() {
		c.cache.storeClaim(obj.(*corev1.PersistentVolumeClaim).DeepCopy())
	}
}

// claim looks at one claim (syncClaimByKey).
func (c *Controller) claim(run *reconcile.Run) error {
	obj, there := c.claims.Get(run.Key)
	if !there {
		run.Gone()
		if claim := c.cache.claims[run.Key]; claim != nil { // else its end has been seen to
			c.claimGone(run, claim)
		}
		c.open.claims.settle(run.Key)
		return nil
	}
	claim := obj.(*corev1.PersistentVolumeClaim)
	if !c.cache.storeClaim(claim) {
		return nil // the controller has written a newer one
	}
	err := c.syncClaim(run, claim)
	c.noteClaim(run.Key)
	if now := c.cache.claims[run.Key]; now != nil {
		c.noteVolume(now.Spec.VolumeName)
		run.Converged(client.RefOf(now), now.Generation, c.settledClaim(now) && now.Status.Phase == corev1.ClaimBound)
	}
	return err
}

// claimGone has the volume released whose claim was deleted (deleteClaim).
func (c *Controller) claimGone(run *reconcile.Run, claim *corev1.PersistentVolumeClaim) {
	delete(c.cache.claims, run.Key)
	if claim.Spec.VolumeName != "" {
		c.volumeLoop.Add(run.T, claim.Spec.VolumeName)
	}
}

// volume looks at one volume (syncVolumeByKey).
func (c *Controller) volume(run *reconcile.Run) error {
	obj, there := c.volumes.Get(run.Key)
	if !there {
		if v, had := c.cache.volume(run.Key); had {
			c.volumeGone(run, v)
		}
		c.open.volumes.settle(run.Key)
		return nil
	}
	v := obj.(*corev1.PersistentVolume)
	if !c.cache.storeVolume(v) {
		return nil
	}
	err := c.syncVolume(run, v)
	c.noteVolume(run.Key)
	for _, obj := range c.claims.ByIndex(claimsByVolume, run.Key) {
		c.noteClaim(informer.KeyOf(obj))
	}
	return err
}

// volumeGone has the claim looked at that has lost its volume (deleteVolume).
func (c *Controller) volumeGone(run *reconcile.Run, v *corev1.PersistentVolume) {
	c.cache.removeVolume(v)
	if v.Spec.ClaimRef != nil {
		c.claimLoop.Add(run.T, claimKey(v))
	}
}

// claimKey is the key of the claim that a volume is for (claimrefToClaimKey).
func claimKey(v *corev1.PersistentVolume) string {
	return informer.Key(v.Spec.ClaimRef.Namespace, v.Spec.ClaimRef.Name)
}

// claimsOf are the keys of the claims that a pod names (common.PodPVCIndexFunc).
func claimsOf(obj runtime.Object) []string {
	pod := obj.(*corev1.Pod)
	var keys []string
	for i := range pod.Spec.Volumes {
		switch v := &pod.Spec.Volumes[i]; {
		case v.PersistentVolumeClaim != nil:
			keys = append(keys, informer.Key(pod.Namespace, v.PersistentVolumeClaim.ClaimName))
		case v.Ephemeral != nil:
			keys = append(keys, informer.Key(pod.Namespace, ephemeral.VolumeClaimName(pod, v)))
		}
	}
	return keys
}

// podsOf are the names of the pods that name a claim, have not ended, and that wanted counts.
func (c *Controller) podsOf(claim string, wanted func(*corev1.Pod) bool, name func(*corev1.Pod) string) []string {
	var names []string
	for _, obj := range c.pods.ByIndex(podsByClaim, claim) {
		if pod := obj.(*corev1.Pod); !ended(pod) && wanted(pod) {
			names = append(names, name(pod))
		}
	}
	return names
}

// ended is pkg/volume/util IsPodTerminated.
func ended(pod *corev1.Pod) bool {
	running := slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Terminated == nil && s.State.Waiting == nil
	})
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded || pod.DeletionTimestamp != nil && !running
}
