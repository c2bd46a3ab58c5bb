package webhook

import corev1 "k8s.io/api/core/v1"

// Services are those of the cluster, behind which a webhook may be.
type Services interface {
	// Endpoints are the ready ones of a Service's port, of which one is picked at
	// random; there is at least one, or an error.
	Endpoints(namespace, name string, port int32) ([]Endpoint, error)
	// Pod is one of the cluster's; nil where it is not there.
	Pod(namespace, name string) *corev1.Pod
}

// Endpoint is where a Service's requests can go.
type Endpoint struct {
	Address string // host:port
	Pod     *corev1.ObjectReference
}

// resolveService finds the server behind one of a Service's ready endpoints. Which
// simulated server it is, the pod's image says.
func (c *Client) resolveService(namespace, name string, port int32) (server, error) {
	ready, err := c.services.Endpoints(namespace, name, port)
	if err != nil {
		return server{}, err
	}
	one := ready[c.rand.IntN(len(ready))]
	return server{address: one.Address, name: c.serverIn(one.Pod)}, nil
}

// serverIn is the simulated server that a pod's image holds; "" for none.
func (c *Client) serverIn(ref *corev1.ObjectReference) string {
	if ref == nil || ref.Kind != "Pod" || c.servers == nil {
		return ""
	}
	pod := c.services.Pod(ref.Namespace, ref.Name)
	if pod == nil {
		return ""
	}
	for _, one := range pod.Spec.Containers {
		if name := c.servers.Image(one.Image); name != "" {
			return name
		}
	}
	return ""
}
