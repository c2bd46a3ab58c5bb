package handlers

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// ComponentHealth is what a probe of a part of the control plane came to.
type ComponentHealth struct {
	Name    string
	Message string // what it answered
	Error   string // why it did not; "" where it is healthy
}

// ComponentStatus answers for a kind that is no object of the store: whoever asks has
// the control plane probed (pkg/registry/core/componentstatus/rest.go). Deprecated
// for long, because it looks only at what runs beside the API server.
func (h *Handlers) ComponentStatus(c *Call) *request.Response {
	want, err := cacher.NewSelector(c.Kind, "", c.Req.Name, &c.Req.List)
	if err != nil {
		return &request.Response{Err: c.Refuse(trace.StageDecode, "", err)}
	}
	var found []runtime.Object
	if h.Components != nil {
		for _, health := range h.Components() {
			if obj := statusOfComponent(health); want.Matches(obj) {
				found = append(found, obj)
			}
		}
	}
	if c.Req.Verb == "get" {
		if len(found) == 0 {
			return &request.Response{Err: c.Refuse(trace.StageStorage, "", apierrors.NewNotFound(corev1.Resource("componentstatus"), c.Req.Name))}
		}
		c.Pass(trace.StageStorage, "", "Asked "+c.Req.Name+" how it is. Nothing is stored.", nil)
		return &request.Response{Object: found[0]}
	}
	c.Pass(trace.StageStorage, "", "Asked the parts of the control plane how they are. Nothing is stored.", nil)
	return &request.Response{IsList: true, Items: found, ListMeta: metav1.ListMeta{}}
}

func statusOfComponent(h ComponentHealth) *corev1.ComponentStatus {
	obj := &corev1.ComponentStatus{
		ObjectMeta: metav1.ObjectMeta{Name: h.Name},
		Conditions: []corev1.ComponentCondition{{Type: corev1.ComponentHealthy, Status: corev1.ConditionTrue, Message: h.Message}},
	}
	if h.Error != "" {
		obj.Conditions[0] = corev1.ComponentCondition{Type: corev1.ComponentHealthy, Status: corev1.ConditionUnknown, Error: h.Error}
	}
	obj.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ComponentStatus"))
	return obj
}
