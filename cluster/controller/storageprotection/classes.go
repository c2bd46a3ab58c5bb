package storageprotection

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Classes is the controller of VolumeAttributesClasses.
type Classes struct {
	*reconcile.Env
	classes, claims, volumes *informer.Informer
	loop                     *reconcile.Loop
}

// NewClasses makes the controller; Start starts it.
func NewClasses(env *reconcile.Env) *Classes { return &Classes{Env: env} }

// Start waits for the first class and then begins to work.
func (c *Classes) Start() {
	c.Process.Go("await", func(t *sim.Task) {
		client.AwaitUseOf(t, c.Client, client.VolumeAttributesClasses)
		c.classes, c.claims, c.volumes = c.Informers.For(client.VolumeAttributesClasses), c.Informers.For(client.PersistentVolumeClaims), c.Informers.For(client.PersistentVolumes)
		c.loop = reconcile.NewLoop(c.Env, "vacprotection", client.VolumeAttributesClasses, c.sync)
		look := func(t *sim.Task, obj runtime.Object) {
			if class := obj.(*storagev1.VolumeAttributesClass); going(class, classFinalizer) || bare(class, classFinalizer) {
				c.loop.Add(t, class.Name)
			}
		}
		c.classes.AddHandler(informer.Handler{
			Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { look(t, obj) },
			Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { look(t, obj) },
		})
		for _, of := range []*informer.Informer{c.claims, c.volumes} {
			of.AddHandler(informer.Handler{
				Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) { c.left(t, old, obj) },
				Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.left(t, obj, nil) },
			})
		}
		c.loop.Start(c.classes, c.claims, c.volumes)
	})
}

// left has the classes looked at that a claim or volume does not name any more
// (pvcUpdated, pvUpdated).
func (c *Classes) left(t *sim.Task, was, is runtime.Object) {
	still := classesOf(is)
	for _, name := range classesOf(was) {
		if !slices.Contains(still, name) {
			c.loop.Add(t, name)
		}
	}
}

// classesOf are the classes that a claim or volume names: the one it is to have, the
// one it has, the one it gets (getPVCReferencedVACNames, getPVReferencedVACNames).
func classesOf(obj runtime.Object) (names []string) {
	add := func(name *string) {
		if name != nil && *name != "" && !slices.Contains(names, *name) {
			names = append(names, *name)
		}
	}
	switch o := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		add(o.Spec.VolumeAttributesClassName)
		add(o.Status.CurrentVolumeAttributesClassName)
		if m := o.Status.ModifyVolumeStatus; m != nil {
			add(&m.TargetVolumeAttributesClassName)
		}
	case *corev1.PersistentVolume:
		add(o.Spec.VolumeAttributesClassName)
	}
	return names
}

// sync looks at one class (processVAC).
func (c *Classes) sync(run *reconcile.Run) error {
	obj, ok := c.classes.Get(run.Key)
	if !ok {
		return nil
	}
	class := obj.(*storagev1.VolumeAttributesClass).DeepCopy()
	switch {
	case going(class, classFinalizer):
		users := append(c.volumes.List(), c.claims.List()...)
		run.Look(len(users))
		if slices.ContainsFunc(users, func(o runtime.Object) bool { return slices.Contains(classesOf(o), class.Name) }) {
			return nil // when it names another, the class comes back here
		}
		run.Act("update", client.RefOf(class), nil, nil, "class %s is to go and no volume or claim names it: take the finalizer %s away", class.Name, classFinalizer)
		return setFinalizer(run, c.Client, client.VolumeAttributesClasses, class, classFinalizer, false)
	case bare(class, classFinalizer):
		run.Act("update", client.RefOf(class), nil, nil, "class %s is not protected: add the finalizer %s", class.Name, classFinalizer)
		return setFinalizer(run, c.Client, client.VolumeAttributesClasses, class, classFinalizer, true)
	}
	return nil
}
