package kubelet

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
}

// config is a ConfigMap or Secret that a pod uses, as the kubelet's cache has it, and the
// event of its newest change.
func (w *worker) config(t *sim.Task, r client.Resource, name string) (runtime.Object, trace.ID, error) {
	kl, ns := w.kl, w.pod.Namespace
	key := r.Resource + "/" + ns + "/" + name
	c := kl.configs[key]
	if c == nil {
		c = &watched{of: informer.New(kl.p, kl.p.Lane, kl.c, r, ns, informer.Options{FieldSelector: "metadata.name=" + name})}
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
	if c.frozen != nil {
		return c.frozen, c.changed, nil
	}
	if !c.of.WaitForSyncWithin(t, configPatience) {
		return nil, trace.ID{}, fmt.Errorf("failed to sync %s cache: timed out waiting for the condition", kindOf(r))
	}
	obj, ok := c.of.Get(ns + "/" + name)
	if !ok {
		return nil, c.changed, apierrors.NewNotFound(r.GroupResource(), name)
	}
	if immutable(obj) {
		c.frozen = obj
		c.of.Stop()
	}
	return obj, c.changed, nil
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

// configMap gives a ConfigMap's data; a missing one is empty if optional.
func (w *worker) configMap(t *sim.Task, name string, optional *bool) (payload, error) {
	obj, change, err := w.config(t, client.ConfigMaps, name)
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return payload{map[string]string{}, "none", change}, nil
	}
	if err != nil {
		return payload{}, notFoundText("configmap", name, err)
	}
	cm := obj.(*corev1.ConfigMap)
	return payload{configMapData(cm), string(cm.UID) + cm.ResourceVersion, change}, nil
}

func configMapData(cm *corev1.ConfigMap) map[string]string {
	data := make(map[string]string, len(cm.Data)+len(cm.BinaryData))
	maps.Copy(data, cm.Data)
	for k, v := range cm.BinaryData {
		data[k] = string(v)
	}
	return data
}

func (w *worker) secret(t *sim.Task, name string, optional *bool) (payload, error) {
	obj, change, err := w.config(t, client.Secrets, name)
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return payload{map[string]string{}, "none", change}, nil
	}
	if err != nil {
		return payload{}, notFoundText("secret", name, err)
	}
	secret := obj.(*corev1.Secret)
	data := make(map[string]string, len(secret.Data))
	for k, v := range secret.Data {
		data[k] = string(v)
	}
	return payload{data, string(secret.UID) + secret.ResourceVersion, change}, nil
}

func notFoundText(kind, name string, err error) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%s %q not found", kind, name)
	}
	return err
}
