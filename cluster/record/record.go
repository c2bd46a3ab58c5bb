// Package record is client-go's tools/record: it writes the Kubernetes Events
// that `kubectl describe` shows.
package record

import (
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// Recorder writes Events in the name of one component.
type Recorder struct {
	process   *sim.Process
	client    client.Interface
	component string
	host      string
}

// New makes a recorder and starts the task that sends its Events.
func New(p *sim.Process, c client.Interface, component string) *Recorder {
	return &Recorder{process: p, client: c, component: component, host: p.Lane.Instance}
}

// Event records that something happened to obj: eventtype is corev1's Normal or
// Warning, reason a CamelCase word, the message a sentence. It does not wait
// for the API server.
func (r *Recorder) Event(t *sim.Task, obj runtime.Object, eventtype, reason, messageFmt string, args ...any) {
}
