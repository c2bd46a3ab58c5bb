// Package deployment is the Deployment controller: it moves a workload from one
// pod template to another by turning two knobs, the replicas of the old
// ReplicaSets and those of the new one. It never touches a pod.
//
// The worked idea. A Deployment of 4 with the default strategy (maxSurge 25 %,
// rounded up: 1; maxUnavailable 25 %, rounded down: 1) gets a new image. So at
// most 5 pods may exist and at least 3 must be available:
//
//	sync  old  new  available  why
//	1      4    1      4       a new ReplicaSet: 5 - 4 = 1 pod may be added
//	2      3    1      4       5 exist, 3 must stay, 1 new one is not ready: 5 - 3 - 1 = 1 down
//	3      3    2      3       5 - 4 = 1 up
//	…      (a new pod becomes ready)  one down, one up, until
//	n      0    4      4       complete; the old ReplicaSet stays, with 0, for a rollback
//
// Each line is one run of the same function on what the cache shows then. There
// is no plan and no memory: kill the controller anywhere and it goes on.
//
// A template is recognised by its content; the ReplicaSet's name carries a hash
// of it (pod-template-hash). A rollback (kubectl rollout undo) only puts an old
// template back: its ReplicaSet is found again, and gets a new revision number.
//
// Mirrors pkg/controller/deployment. Simplified: the rollback annotation of
// extensions/v1beta1 is not served. Start reading at [Controller.sync].
package deployment

import (
	"maps"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/ownerref"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Absent,
	What: "the rollback annotation of extensions/v1beta1",
})

// Name is the controller's name.
const Name = "deployment-controller"

// maxRetries is how often a failing Deployment is tried before it waits for the
// next change.
const maxRetries = 15

// Controller is the Deployment controller.
type Controller struct {
	*reconcile.Env
	deployments *informer.Informer
	sets        *informer.Informer
	pods        *informer.Informer
	loop        *reconcile.Loop
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	c := &Controller{
		Env: env, deployments: env.Informers.For(client.Deployments),
		sets: env.Informers.For(client.ReplicaSets), pods: env.Informers.For(client.Pods),
	}
	c.loop = reconcile.NewLoop(env, "deployment", client.Deployments, c.sync)
	c.loop.MaxRetries = maxRetries
	ownerref.AddIndex(c.sets)
	ownerref.AddIndex(c.pods)
	c.deployments.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.enqueue(t, obj) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { c.enqueue(t, obj) },
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.enqueue(t, obj) },
	})
	c.sets.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.addSet(t, obj.(*appsv1.ReplicaSet)) },
		Update: func(t *sim.Task, old, new runtime.Object, _ trace.ID) {
			c.updateSet(t, old.(*appsv1.ReplicaSet), new.(*appsv1.ReplicaSet))
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.enqueueOwner(t, obj.(*appsv1.ReplicaSet)) },
	})
	// Pods only when they are gone: Recreate waits for the last old one.
	c.pods.AddHandler(informer.Handler{
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.deletePod(t, obj.(*corev1.Pod)) },
	})
	return c
}

// Start starts the workers.
func (c *Controller) Start() { c.loop.Start(c.deployments, c.sets, c.pods) }

func (c *Controller) enqueue(t *sim.Task, obj runtime.Object) { c.loop.Add(t, informer.KeyOf(obj)) }

func (c *Controller) owner(rs *appsv1.ReplicaSet) (*appsv1.Deployment, bool) {
	return ownerref.Resolve[*appsv1.Deployment](c.deployments, "Deployment", rs.Namespace, metav1.GetControllerOfNoCopy(rs))
}

// enqueueOwner wakes up the ReplicaSet's Deployment, if it has one.
func (c *Controller) enqueueOwner(t *sim.Task, rs *appsv1.ReplicaSet) {
	if d, ok := c.owner(rs); ok {
		c.enqueue(t, d)
	}
}

func (c *Controller) addSet(t *sim.Task, rs *appsv1.ReplicaSet) {
	if rs.DeletionTimestamp != nil || metav1.GetControllerOfNoCopy(rs) != nil {
		c.enqueueOwner(t, rs)
		return
	}
	c.enqueueAdopters(t, rs)
}

func (c *Controller) updateSet(t *sim.Task, old, rs *appsv1.ReplicaSet) {
	if old.ResourceVersion == rs.ResourceVersion {
		return // a resync
	}
	was, is := metav1.GetControllerOfNoCopy(old), metav1.GetControllerOfNoCopy(rs)
	moved := !reflect.DeepEqual(was, is)
	if moved && was != nil {
		c.enqueueOwner(t, old)
	}
	switch {
	case is != nil:
		c.enqueueOwner(t, rs)
	case moved || !maps.Equal(old.Labels, rs.Labels):
		c.enqueueAdopters(t, rs)
	}
}

// enqueueAdopters wakes up every Deployment whose selector matches an orphan.
func (c *Controller) enqueueAdopters(t *sim.Task, rs *appsv1.ReplicaSet) {
	if len(rs.Labels) == 0 {
		return
	}
	for _, obj := range c.deployments.ListNamespace(rs.Namespace) {
		sel, err := metav1.LabelSelectorAsSelector(obj.(*appsv1.Deployment).Spec.Selector)
		if err == nil && !sel.Empty() && sel.Matches(labels.Set(rs.Labels)) {
			c.enqueue(t, obj)
		}
	}
}

func (c *Controller) deletePod(t *sim.Task, pod *corev1.Pod) {
	rs, ok := ownerref.Resolve[*appsv1.ReplicaSet](c.sets, "ReplicaSet", pod.Namespace, metav1.GetControllerOfNoCopy(pod))
	if !ok {
		return
	}
	if d, ok := c.owner(rs); ok && d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		c.enqueue(t, d)
	}
}
