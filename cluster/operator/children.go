package operator

import (
	"encoding/hex"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// port is where PostgreSQL listens.
const port = 5432

// child is a kind of object that a PostgresCluster takes one of, of its own name.
type child struct {
	kind  client.Resource
	cache *informer.Informer
	// make gives the object that is wanted, or nil where that which is there will do.
	make func(run *reconcile.Run, pg *unstructured.Unstructured, there apiruntime.Object) (obj apiruntime.Object, why string)
}

// watch has the owner looked at again when a child appears, changes or goes.
func (c child) watch(loop *reconcile.Loop) {
	owner := func(t *sim.Task, obj apiruntime.Object) {
		// Every object of these kinds has metadata.
		m, _ := meta.Accessor(obj)
		if ref := metav1.GetControllerOf(m); ref != nil && ref.Kind == PostgresClusters.Kind {
			loop.Add(t, informer.Key(m.GetNamespace(), ref.Name))
		}
	}
	c.cache.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj apiruntime.Object, _ trace.ID) { owner(t, obj) },
		Update: func(t *sim.Task, _, obj apiruntime.Object, _ trace.ID) { owner(t, obj) },
		Delete: func(t *sim.Task, obj apiruntime.Object, _ trace.ID) { owner(t, obj) },
	})
}

// keep makes one child, or changes it back, if it is not as it should be.
func (o *operator) keep(run *reconcile.Run, pg *unstructured.Unstructured, c child) error {
	there, ok := c.cache.Get(run.Key)
	target := c.kind.Ref(run.Namespace, run.Name)
	if ok {
		m, _ := meta.Accessor(there)
		if !metav1.IsControlledBy(m, pg) {
			run.Act("refuse", target, nil, nil, "%s %s belongs to somebody else: leave it alone", c.kind.Kind, run.Name)
			o.Events.Event(run.T, pg, corev1.EventTypeWarning, "NameTaken", "%s %s exists and belongs to somebody else", c.kind.Kind, run.Name)
			return nil
		}
		obj, why := c.make(run, pg, there)
		if obj == nil {
			return nil
		}
		run.Act("update", target, nil, nil, why)
		_, err := o.Client.Update(run.T, c.kind, run.Namespace, obj, "")
		return err
	}
	obj, why := c.make(run, pg, nil)
	run.Act("create", target, run.Name, nil, why)
	_, err := o.Client.Create(run.T, c.kind, run.Namespace, obj)
	if apierrors.IsAlreadyExists(err) {
		return nil // the cache was behind; its event brings us back
	}
	return err
}

func metaFor(run *reconcile.Run, pg *unstructured.Unstructured) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: run.Namespace, Name: run.Name, Labels: labels(run), OwnerReferences: owns(pg)}
}

func labels(run *reconcile.Run) map[string]string {
	return map[string]string{"databases.example.com/cluster": run.Name}
}

// secret is the password, which is made once and then left as it is.
func (o *operator) secret(run *reconcile.Run, pg *unstructured.Unstructured, there apiruntime.Object) (apiruntime.Object, string) {
	if there != nil {
		return nil, ""
	}
	password := make([]byte, 12)
	for i := range password {
		password[i] = byte(run.T.Rand().Uint32())
	}
	return &corev1.Secret{
		ObjectMeta: metaFor(run, pg), Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{"password": []byte(hex.EncodeToString(password))},
	}, "PostgresCluster " + run.Name + " has no password yet: make one"
}

func (o *operator) service(run *reconcile.Run, pg *unstructured.Unstructured, there apiruntime.Object) (apiruntime.Object, string) {
	if there != nil {
		return nil, ""
	}
	return &corev1.Service{ObjectMeta: metaFor(run, pg), Spec: corev1.ServiceSpec{
		Selector: labels(run),
		Ports:    []corev1.ServicePort{{Name: "postgres", Port: port, TargetPort: intstr.FromInt32(port)}},
	}}, "PostgresCluster " + run.Name + " has no Service: its clients need one name for all members"
}

// deployment runs the members: as many as are asked for, of the version that is.
func (o *operator) deployment(run *reconcile.Run, pg *unstructured.Unstructured, there apiruntime.Object) (apiruntime.Object, string) {
	want := wantedOf(pg)
	replicas, image := int32(want.replicas), "postgres:"+want.version
	if there != nil {
		d := there.(*appsv1.Deployment)
		if *d.Spec.Replicas == replicas && d.Spec.Template.Spec.Containers[0].Image == image {
			return nil, ""
		}
		d = d.DeepCopy()
		why := "Deployment " + run.Name + " is not what PostgresCluster " + run.Name + " asks for: " + differs(*d.Spec.Replicas, replicas, d.Spec.Template.Spec.Containers[0].Image, image)
		d.Spec.Replicas, d.Spec.Template.Spec.Containers[0].Image = &replicas, image
		return d, why
	}
	return &appsv1.Deployment{ObjectMeta: metaFor(run, pg), Spec: appsv1.DeploymentSpec{
		Replicas: &replicas,
		Selector: &metav1.LabelSelector{MatchLabels: labels(run)},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels(run)},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "postgres", Image: image,
				Ports: []corev1.ContainerPort{{Name: "postgres", ContainerPort: port}},
				Env: []corev1.EnvVar{{Name: "POSTGRES_PASSWORD", ValueFrom: &corev1.EnvVarSource{
					SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: run.Name}, Key: "password"},
				}}},
			}}},
		},
	}}, "PostgresCluster " + run.Name + " has no Deployment: make one with " + members(replicas)
}

// ready is how many members answer.
func (o *operator) ready(run *reconcile.Run) int64 {
	if obj, ok := o.children[len(o.children)-1].cache.Get(run.Key); ok {
		return int64(obj.(*appsv1.Deployment).Status.ReadyReplicas)
	}
	return 0
}

func differs(was, replicas int32, had, image string) string {
	if had != image {
		return "it runs " + had + ", and " + image + " is wanted"
	}
	return "it has " + members(was) + ", and " + members(replicas) + " are wanted"
}

func members(n int32) string {
	if n == 1 {
		return "1 member"
	}
	return strconv.Itoa(int(n)) + " members"
}
