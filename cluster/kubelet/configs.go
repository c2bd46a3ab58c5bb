package kubelet

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// watched is a ConfigMap or Secret that pods of this node use. It is watched by itself
// from the first pod's use of it to the last one's end
// (pkg/kubelet/util/manager/watch_based_manager.go).
type watched struct {
	of      *informer.Informer
	users   int
	changed trace.ID       // the newest watch event
	frozen  runtime.Object // immutable: no longer watched

	// data is what is in the object seen, read once for all pods of the node.
	seen runtime.Object
	data map[string]string
}

// config is what a ConfigMap or Secret that a pod uses gives it, as the kubelet's cache
// has it; a missing one is empty if optional. What it gives is shared.
func (w *worker) config(t *sim.Task, r client.Resource, name string, optional *bool) (payload, error) {
	kl, ns := w.kl, w.pod.Namespace
	key := r.Resource + "/" + ns + "/" + name
	c := kl.configs[key]
	if c == nil {
		c = &watched{of: informer.New(kl.p, kl.p.Lane, kl.c, r, ns, informer.Options{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()})}
		c.of.AddHandler(informer.Handler{
			Add:    func(_ *sim.Task, _ runtime.Object, why trace.ID) { c.changed = why },
			Update: func(_ *sim.Task, _, _ runtime.Object, why trace.ID) { c.changed = why },
			Delete: func(_ *sim.Task, _ runtime.Object, why trace.ID) { c.changed = why },
		})
		c.of.Start()
		kl.configs[key] = c
	}
	if !w.uses[key] {
		w.uses[key] = true
		c.users++
	}
	obj, ok := c.frozen, true
	if obj == nil {
		if !c.of.WaitForSyncWithin(t, configPatience) {
			return payload{}, fmt.Errorf("failed to sync %s cache: timed out waiting for the condition", kindOf(r))
		}
		obj, ok = c.of.Get(ns + "/" + name)
	}
	switch {
	case !ok && optional != nil && *optional:
		return payload{version: "none", change: c.changed}, nil
	case !ok:
		return payload{}, fmt.Errorf("%s %q not found", kindOf(r), name)
	}
	if c.seen != obj {
		c.seen, c.data = obj, dataOf(obj)
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return payload{}, err
	}
	if c.frozen == nil && immutable(obj) {
		c.frozen = obj
		c.of.Stop()
	}
	return payload{c.data, string(m.GetUID()) + m.GetResourceVersion(), c.changed}, nil
}

// configPatience is how long a pod waits for the first list.
const configPatience = time.Second

func kindOf(r client.Resource) string {
	if r == client.Secrets {
		return "secret"
	}
	return "configmap"
}

func immutable(obj runtime.Object) bool {
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		return o.Immutable != nil && *o.Immutable
	case *corev1.Secret:
		return o.Immutable != nil && *o.Immutable
	}
	return false
}

// forgetConfigs ends the watches of what no other pod of the node uses.
func (w *worker) forgetConfigs() {
	for key := range w.uses {
		c := w.kl.configs[key]
		if c.users--; c.users == 0 {
			c.of.Stop()
			delete(w.kl.configs, key)
		}
	}
	clear(w.uses)
}

// payload is what a source gives a volume, or an environment.
type payload struct {
	data map[string]string
	// version tells one content from another; change is the event that brought it.
	version string
	change  trace.ID
}

func (w *worker) configMap(t *sim.Task, name string, optional *bool) (payload, error) {
	return w.config(t, client.ConfigMaps, name, optional)
}

func (w *worker) secret(t *sim.Task, name string, optional *bool) (payload, error) {
	return w.config(t, client.Secrets, name, optional)
}

// dataOf is what a ConfigMap or Secret holds, as text.
func dataOf(obj runtime.Object) map[string]string {
	data := map[string]string{}
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		maps.Copy(data, o.Data)
		for k, v := range o.BinaryData {
			data[k] = string(v)
		}
	case *corev1.Secret:
		for k, v := range o.Data {
			data[k] = string(v)
		}
	}
	return data
}

func notFoundText(kind, name string, err error) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%s %q not found", kind, name)
	}
	return err
}
