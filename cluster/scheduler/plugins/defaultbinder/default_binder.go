// Package defaultbinder is the DefaultBinder plugin: it posts a Binding to the
// API server, which then sets spec.nodeName. Nobody else may.
//
// Mirrors pkg/scheduler/framework/plugins/defaultbinder.
//
// Nothing is left out. Start reading at [DefaultBinder.Bind].
package defaultbinder

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
)

// Name is the plugin's name.
const Name = "DefaultBinder"

// DefaultBinder is the plugin.
type DefaultBinder struct{}

// Name is [Name].
func (*DefaultBinder) Name() string { return Name }

// Bind posts pods/binding. The UID makes sure that it is still this very pod.
func (*DefaultBinder) Bind(t *sim.Task, c client.Interface, pod *corev1.Pod, nodeName string) *framework.Status {
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: nodeName},
	}
	_, err := c.CreateSub(t, client.Pods, pod.Namespace, pod.Name, "binding", binding)
	return framework.AsStatus(Name, err)
}
