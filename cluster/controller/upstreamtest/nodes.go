package upstreamtest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// NodeWrites are what a controller asked the API server to change of nodes, and the Events that it
// recorded, in lines that can be compared: without revisions and times, sorted, and of several that
// are alike one.
type NodeWrites []string

// NodeWritesOf are those of upstream's controller, which ran over a clientset.
func NodeWritesOf(c *fake.Clientset) (w NodeWrites) {
	for _, a := range c.Actions() {
		switch a := a.(type) {
		case clienttesting.PatchAction: // before update, whose interface it has
			if a.GetResource().Resource == "nodes" {
				w.patch(a.GetName(), a.GetSubresource(), a.GetPatch())
			}
		case clienttesting.CreateAction:
			if e, ok := a.GetObject().(*corev1.Event); ok && a.GetVerb() == "create" {
				w.event(e.InvolvedObject.Name, e.Type, e.Reason, e.Message)
			} else if n, ok := a.GetObject().(*corev1.Node); ok && a.GetVerb() == "update" {
				w.update(n)
			}
		case clienttesting.DeleteAction:
			if a.GetResource().Resource == "nodes" {
				w.add("delete %s", a.GetName())
			}
		}
	}
	return w.sorted()
}

// NodeWriter is a connection that takes down what goes over it.
type NodeWriter struct {
	client.Interface
	lines *NodeWrites
}

// NewNodeWriter makes one.
func NewNodeWriter(c client.Interface) *NodeWriter { return &NodeWriter{c, &NodeWrites{}} }

// Writes are what went over it, and the Events among what was told.
func (w *NodeWriter) Writes(events []*trace.Event) NodeWrites {
	all := slices.Clone(*w.lines)
	for _, e := range events {
		if p, ok := e.Payload.(*trace.KubeEvent); ok && e.Kind == trace.EventRecorded {
			all.event(p.Regarding.Name, p.Type, p.Reason, p.Message)
		}
	}
	return all.sorted()
}

// Update is [client.Interface].
func (w *NodeWriter) Update(t *sim.Task, r client.Resource, namespace string, obj runtime.Object, subresource string) (runtime.Object, error) {
	if n, ok := obj.(*corev1.Node); ok {
		w.lines.update(n)
	}
	return w.Interface.Update(t, r, namespace, obj, subresource)
}

// Patch is [client.Interface].
func (w *NodeWriter) Patch(t *sim.Task, r client.Resource, namespace, name string, pt types.PatchType, data []byte, subresource string) (runtime.Object, error) {
	if r == client.Nodes {
		w.lines.patch(name, subresource, data)
	}
	return w.Interface.Patch(t, r, namespace, name, pt, data, subresource)
}

// Delete is [client.Interface].
func (w *NodeWriter) Delete(t *sim.Task, r client.Resource, namespace, name string, opts metav1.DeleteOptions) error {
	if r == client.Nodes {
		w.lines.add("delete %s", name)
	}
	return w.Interface.Delete(t, r, namespace, name, opts)
}

func (w *NodeWrites) add(line string, args ...any) { *w = append(*w, fmt.Sprintf(line, args...)) }

func (w *NodeWrites) update(n *corev1.Node) {
	w.add("update %s %s", n.Name, plain(map[string]any{"labels": n.Labels, "providerID": n.Spec.ProviderID, "taints": n.Spec.Taints}))
}

func (w *NodeWrites) patch(name, subresource string, data []byte) {
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		panic(err)
	}
	if m, ok := v["metadata"].(map[string]any); ok {
		if delete(m, "resourceVersion"); len(m) == 0 {
			delete(v, "metadata")
		}
	}
	if len(v) > 0 || subresource != "" { // one that changes nothing comes of a cache that lags
		w.add("patch %s %s %s", name, subresource, plain(v))
	}
}

func (w *NodeWrites) event(name, kind, reason, message string) {
	w.add("event %s %s %s %s", name, kind, reason, took.ReplaceAllString(message, "after TIME"))
}

var (
	took = regexp.MustCompile(`after [0-9.]+[a-zµ0-9.]*`)
	when = regexp.MustCompile(`"[0-9]{4}-[0-9-]+T[0-9:.]+Z"`)
)

func plain(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return when.ReplaceAllString(string(b), `"TIME"`)
}

func (w NodeWrites) sorted() NodeWrites {
	slices.Sort(w)
	return slices.Compact(w)
}
