package client

import (
	"errors"
	"net/http"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// ScaleMissing reports whether an error says that a kind has no scale, and gives it in the words
// of client-go's client of scales, which has asked for a path that is not served.
func ScaleMissing(err error, r Resource, name string) (error, bool) {
	if apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return apierrors.NewGenericServerResponse(http.StatusNotFound, http.MethodGet, schema.GroupResource{Resource: r.Resource}, name, "", 0, true), true
	}
	return err, false
}

// UpdateScale writes an object's scale.
func UpdateScale(t *sim.Task, c Interface, r Resource, namespace string, scale *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
	return typed[*autoscalingv1.Scale](c.Update(t, r, namespace, scale, "scale"))
}
