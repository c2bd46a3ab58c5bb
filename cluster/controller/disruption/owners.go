package disruption

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/controller/ownerref"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
)

// owners tells of the owners of pods how many replicas they ask for: from caches for the
// kinds that Kubernetes has, by the scale subresource for others.
type owners struct {
	client                              client.Interface
	controllers, sets, deploys, statefs *informer.Informer
	custom                              []client.CustomKind // that are served
}

func (o *owners) watch(env *reconcile.Env) {
	o.client = env.Client
	o.controllers, o.sets = env.Informers.For(client.ReplicationControllers), env.Informers.For(client.ReplicaSets)
	o.deploys, o.statefs = env.Informers.For(client.Deployments), env.Informers.For(client.StatefulSets)
	if u, ok := client.As[client.Usage](env.Client); ok {
		env.Process.Go("discovery-custom", func(t *sim.Task) {
			for state := uint64(0); ; {
				o.custom, state = u.AwaitCustomKinds(t, state)
			}
		})
	}
}

func (o *owners) informers() []*informer.Informer {
	return []*informer.Informer{o.controllers, o.sets, o.deploys, o.statefs}
}

// found is a controller and how many pods it asks for.
type found struct {
	uid   types.UID
	scale int32
}

// scale adds up what the controllers of pods ask for, each once, and counts the pods that
// have none (getExpectedScale).
func (o *owners) scale(t *sim.Task, counted []*corev1.Pod) (sum int32, unmanaged int, err error) {
	scales := map[types.UID]int32{}
	for _, pod := range counted {
		ref := metav1.GetControllerOfNoCopy(pod)
		if ref == nil {
			unmanaged++
			continue
		}
		if _, known := scales[ref.UID]; known {
			continue
		}
		f, err := o.find(t, ref, pod.Namespace)
		if err != nil {
			return 0, unmanaged, err
		}
		if f == nil {
			return 0, unmanaged, fmt.Errorf("found no controllers for pod %q", pod.Name)
		}
		if _, known := scales[f.uid]; !known {
			sum += f.scale
		}
		scales[f.uid] = f.scale
	}
	return sum, unmanaged, nil
}

// find asks one finder after the other; nil if there is no such controller.
func (o *owners) find(t *sim.Task, ref *metav1.OwnerReference, ns string) (*found, error) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil, err
	}
	apps := slices.Contains([]string{"apps", "extensions"}, gv.Group)
	if gv.Group == "" {
		if rc, ok := ownerref.Resolve[*corev1.ReplicationController](o.controllers, "ReplicationController", ns, ref); ok {
			return &found{rc.UID, *rc.Spec.Replicas}, nil
		}
	}
	if rs, ok := ownerref.Resolve[*appsv1.ReplicaSet](o.sets, "ReplicaSet", ns, ref); ok && apps {
		above := metav1.GetControllerOfNoCopy(rs)
		if above == nil || above.Kind != "Deployment" {
			return &found{rs.UID, *rs.Spec.Replicas}, nil
		}
		agv, err := schema.ParseGroupVersion(above.APIVersion)
		if err != nil {
			return nil, err
		}
		if d, ok := ownerref.Resolve[*appsv1.Deployment](o.deploys, "Deployment", ns, above); ok && slices.Contains([]string{"apps", "extensions"}, agv.Group) {
			return &found{d.UID, *d.Spec.Replicas}, nil
		}
	}
	if gv.Group == "apps" {
		if sts, ok := ownerref.Resolve[*appsv1.StatefulSet](o.statefs, "StatefulSet", ns, ref); ok {
			return &found{sts.UID, *sts.Spec.Replicas}, nil
		}
	}
	return o.byScale(t, gv, ref, ns)
}

// byScale asks for the scale subresource (getScaleController).
func (o *owners) byScale(t *sim.Task, gv schema.GroupVersion, ref *metav1.OwnerReference, ns string) (*found, error) {
	r, ok := o.resource(gv, ref.Kind)
	if !ok {
		return nil, &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: gv.Group, Kind: ref.Kind}, SearchedVersions: []string{gv.Version}}
	}
	s, err := client.Scale(t, o.client, r, ns, ref.Name)
	switch {
	case apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) && apierrors.IsNotFound(err):
		// The path is not served. Upstream finds that out from discovery.
		return nil, fmt.Errorf("%s does not implement the scale subresource", r.GroupResource())
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case s.UID != ref.UID:
		return nil, nil
	}
	return &found{s.UID, s.Spec.Replicas}, nil
}

// resource is that of a kind (the REST mapping).
func (o *owners) resource(gv schema.GroupVersion, kind string) (client.Resource, bool) {
	is := func(r client.Resource) bool { return r.GroupVersion() == gv && r.Kind == kind }
	if i := slices.IndexFunc(client.All(), is); i >= 0 {
		return client.All()[i], true
	}
	for _, k := range o.custom {
		if i := slices.IndexFunc(k.Versions, is); i >= 0 {
			return k.Versions[i], true
		}
	}
	return client.Resource{}, false
}
