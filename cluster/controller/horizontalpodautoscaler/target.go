package horizontalpodautoscaler

import (
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/sim"
)

// kinds tells which resource a kind has, as a REST mapper does.
type kinds struct {
	custom []client.CustomKind // that are served
}

func (k *kinds) watch(env *reconcile.Env) {
	if u, ok := client.As[client.Usage](env.Client); ok {
		env.Process.Go("discovery-custom", func(t *sim.Task) {
			for state := uint64(0); ; {
				k.custom, state = u.AwaitCustomKinds(t, state)
			}
		})
	}
}

// resource is that of a kind, in the version that the API server prefers (RESTMappings).
func (k *kinds) resource(gk schema.GroupKind) (client.Resource, error) {
	is := func(r client.Resource) bool { return r.Group == gk.Group && r.Kind == gk.Kind }
	if i := slices.IndexFunc(client.All(), is); i >= 0 {
		return client.All()[i], nil
	}
	for _, c := range k.custom {
		if i := slices.IndexFunc(c.Versions, is); i >= 0 {
			return c.Versions[i], nil
		}
	}
	return client.Resource{}, &meta.NoKindMatchError{GroupKind: gk}
}

// scaleOf reads the scale of a target (scaleForResourceMappings).
func (c *Controller) scaleOf(t *sim.Task, r client.Resource, namespace, name string) (*autoscalingv1.Scale, error) {
	s, err := client.Scale(t, c.Client, r, namespace, name)
	if err != nil {
		err, _ = client.ScaleMissing(err, r, name)
		return nil, err
	}
	return s, nil
}

// rescale writes how many replicas the target is to have. A conflict, with somebody else who has
// scaled it, is not the last word: the newest scale gets the same number.
func (c *Controller) rescale(t *sim.Task, r client.Resource, scale *autoscalingv1.Scale, namespace, name string, replicas int32) error {
	return reconcile.OnConflict(t, reconcile.Retry, func() error {
		scale.Spec.Replicas = replicas
		_, err := client.UpdateScale(t, c.Client, r, namespace, scale)
		if err == nil {
			return nil
		}
		if latest, failed := c.scaleOf(t, r, namespace, name); failed == nil {
			scale = latest
		}
		return err
	})
}
