package storageprotection

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/storage/ephemeral"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Claims is the controller of PersistentVolumeClaims.
type Claims struct {
	*reconcile.Env
	claims, pods *informer.Informer
	loop         *reconcile.Loop
}

// NewClaims makes the controller; Start starts it.
func NewClaims(env *reconcile.Env) *Claims { return &Claims{Env: env} }

// Start waits for the first claim and then begins to work.
func (c *Claims) Start() {
	c.Process.Go("await", func(t *sim.Task) {
		client.AwaitUseOf(t, c.Client, client.PersistentVolumeClaims)
		c.claims, c.pods = c.Informers.For(client.PersistentVolumeClaims), c.Informers.For(client.Pods)
		c.loop = reconcile.NewLoop(c.Env, "pvcprotection", client.PersistentVolumeClaims, c.sync)
		claim := func(t *sim.Task, obj runtime.Object) {
			pvc := obj.(*corev1.PersistentVolumeClaim)
			if unused(pvc) == nil && pvc.Status.Phase == corev1.ClaimBound || going(pvc, claimFinalizer) || bare(pvc, claimFinalizer) {
				c.loop.Add(t, informer.KeyOf(pvc))
			}
		}
		c.claims.AddHandler(informer.Handler{
			Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { claim(t, obj) },
			Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { claim(t, obj) },
		})
		c.pods.AddHandler(informer.Handler{
			Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.usedBy(t, obj.(*corev1.Pod)) },
			Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
				was, is := old.(*corev1.Pod), obj.(*corev1.Pod)
				c.usedBy(t, is)
				if was.UID != is.UID { // the deletion between them was not seen
					c.usedBy(t, was)
				}
			},
			Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.usedBy(t, obj.(*corev1.Pod)) },
		})
		c.loop.Start(c.claims, c.pods)
	})
}

// usedBy has the claims looked at that a pod refers to (enqueuePVCs).
func (c *Claims) usedBy(t *sim.Task, pod *corev1.Pod) {
	for i := range pod.Spec.Volumes {
		switch v := &pod.Spec.Volumes[i]; {
		case v.PersistentVolumeClaim != nil:
			c.loop.Add(t, informer.Key(pod.Namespace, v.PersistentVolumeClaim.ClaimName))
		case v.Ephemeral != nil:
			c.loop.Add(t, informer.Key(pod.Namespace, ephemeral.VolumeClaimName(pod, v)))
		}
	}
}

// sync looks at one claim (processPVC).
func (c *Claims) sync(run *reconcile.Run) error {
	obj, ok := c.claims.Get(run.Key)
	if !ok {
		return nil
	}
	pvc := obj.(*corev1.PersistentVolumeClaim)
	if pvc.DeletionTimestamp == nil && pvc.Status.Phase == corev1.ClaimBound {
		if err := c.tellUnused(run, pvc); err != nil {
			return err
		}
	}
	switch {
	case going(pvc, claimFinalizer):
		by, err := c.user(run, pvc, mounts)
		if err != nil || by != "" {
			return err // the pod's end brings the claim back here
		}
		run.Act("update", client.RefOf(pvc), nil, nil, "claim %s is to go and no pod uses it: take the finalizer %s away", pvc.Name, claimFinalizer)
		return setFinalizer(run, c.Client, client.PersistentVolumeClaims, pvc.DeepCopy(), claimFinalizer, false)
	case bare(pvc, claimFinalizer):
		run.Act("update", client.RefOf(pvc), nil, nil, "claim %s is not protected: add the finalizer %s", pvc.Name, claimFinalizer)
		return setFinalizer(run, c.Client, client.PersistentVolumeClaims, pvc.DeepCopy(), claimFinalizer, true)
	}
	return nil
}

// user finds a pod that uses a claim, in the cache, else at the API server; "" for
// none (isBeingUsedWith).
func (c *Claims) user(run *reconcile.Run, pvc *corev1.PersistentVolumeClaim, uses func(*corev1.Pod, *corev1.PersistentVolumeClaim) bool) (string, error) {
	cached := c.pods.ListNamespace(pvc.Namespace)
	run.Look(len(cached))
	if by := userAmong(cached, pvc, uses); by != "" {
		return by, nil
	}
	live, _, err := c.Client.List(run.T, client.Pods, pvc.Namespace, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("live list of pods failed: %w", err)
	}
	return userAmong(live, pvc, uses), nil
}

func userAmong(pods []runtime.Object, pvc *corev1.PersistentVolumeClaim, uses func(*corev1.Pod, *corev1.PersistentVolumeClaim) bool) string {
	for _, obj := range pods {
		if pod := obj.(*corev1.Pod); uses(pod, pvc) {
			return pod.Name
		}
	}
	return ""
}

// mounts reports whether a pod keeps a claim from going: one that is on a node, for no
// kubelet starts a pod with a claim that is to go (podUsesPVCForDeletion).
func mounts(pod *corev1.Pod, pvc *corev1.PersistentVolumeClaim) bool {
	down := pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0
	return pod.Spec.NodeName != "" && refers(pod, pvc, !down)
}

// references reports whether a pod that has not ended refers to a claim
// (podUsesPVCForUnusedSince).
func references(pod *corev1.Pod, pvc *corev1.PersistentVolumeClaim) bool {
	return pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded && refers(pod, pvc, true)
}

// refers reports whether a volume of a pod is the claim; own says whether one that was
// made for the pod counts.
func refers(pod *corev1.Pod, pvc *corev1.PersistentVolumeClaim, own bool) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == pvc.Name ||
			own && v.Ephemeral != nil && ephemeral.VolumeClaimName(pod, &v) == pvc.Name && ephemeral.VolumeIsForPod(pod, pvc) == nil
	})
}

func unused(pvc *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaimCondition {
	i := slices.IndexFunc(pvc.Status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
		return c.Type == corev1.PersistentVolumeClaimUnused
	})
	if i < 0 {
		return nil
	}
	return &pvc.Status.Conditions[i]
}

// tellUnused keeps the condition Unused of a bound claim (updateUnusedCondition).
func (c *Claims) tellUnused(run *reconcile.Run, pvc *corev1.PersistentVolumeClaim) error {
	by, err := c.user(run, pvc, references)
	if err != nil {
		return err
	}
	is := corev1.PersistentVolumeClaimCondition{
		Type: corev1.PersistentVolumeClaimUnused, Status: corev1.ConditionTrue, LastTransitionTime: client.Now(run.T),
		Reason: "NoPodsUsingPVC", Message: "No pods are currently referencing this PVC",
	}
	if by != "" {
		is.Status, is.Reason, is.Message = corev1.ConditionFalse, "PodUsingPVC", "A pod is currently referencing this PVC"
	}
	was := unused(pvc)
	if was != nil && was.Status == is.Status {
		return nil
	}
	pvc = pvc.DeepCopy()
	if was = unused(pvc); was != nil {
		*was = is
	} else {
		pvc.Status.Conditions = append(pvc.Status.Conditions, is)
	}
	run.Act("update", client.RefOf(pvc), is.Status, nil, "%s: write the condition Unused", is.Message)
	_, err = c.Client.Update(run.T, client.PersistentVolumeClaims, pvc.Namespace, pvc, "status")
	return err
}
