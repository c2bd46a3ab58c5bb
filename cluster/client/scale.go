package client

import (
	"errors"

	autoscalingv1 "k8s.io/api/autoscaling/v1"

	"kviz/cluster/sim"
)

// Scales is a connection that can read the scale subresource, which some kinds have:
// how many replicas an object asks for, whatever its kind (client-go scale
// ScalesGetter).
type Scales interface {
	GetScale(t *sim.Task, r Resource, namespace, name string) (*autoscalingv1.Scale, error)
}

// Scale reads an object's scale.
func Scale(t *sim.Task, c Interface, r Resource, namespace, name string) (*autoscalingv1.Scale, error) {
	s, ok := As[Scales](c)
	if !ok {
		return nil, errors.New("this connection cannot read scales")
	}
	return s.GetScale(t, r, namespace, name)
}
