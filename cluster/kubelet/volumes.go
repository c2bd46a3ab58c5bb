package kubelet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// configCache holds the ConfigMaps and Secrets that pods of this node use
// (pkg/kubelet/util/manager). Upstream watches each of them; here one is asked
// for again when it is older than a sync.
type configCache struct {
	objects map[string]cachedConfig
}

type cachedConfig struct {
	obj runtime.Object
	err error
	at  time.Duration
}

// configFresh is how old a ConfigMap or Secret may be.
const configFresh = 1e9

func (kl *Kubelet) config(t *sim.Task, r client.Resource, ns, name string) (runtime.Object, error) {
	key := r.Resource + "/" + ns + "/" + name
	if c, ok := kl.configs.objects[key]; ok && t.Elapsed()-c.at < configFresh {
		return c.obj, c.err
	}
	obj, err := kl.c.Get(t, r, ns, name)
	if kl.configs.objects == nil {
		kl.configs.objects = map[string]cachedConfig{}
	}
	kl.configs.objects[key] = cachedConfig{obj, err, t.Elapsed()}
	return obj, err
}

// configMap gives a ConfigMap's data; a missing one is nil if optional.
func (kl *Kubelet) configMap(t *sim.Task, ns, name string, optional *bool) (map[string]string, error) {
	obj, err := kl.config(t, client.ConfigMaps, ns, name)
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, notFoundText("configmap", name, err)
	}
	cm := obj.(*corev1.ConfigMap)
	data := maps.Clone(cm.Data)
	if data == nil {
		data = map[string]string{}
	}
	for k, v := range cm.BinaryData {
		data[k] = string(v)
	}
	return data, nil
}

func (kl *Kubelet) secret(t *sim.Task, ns, name string, optional *bool) (map[string]string, error) {
	obj, err := kl.config(t, client.Secrets, ns, name)
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, notFoundText("secret", name, err)
	}
	data := map[string]string{}
	for k, v := range obj.(*corev1.Secret).Data {
		data[k] = string(v)
	}
	return data, nil
}

func notFoundText(kind, name string, err error) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%s %q not found", kind, name)
	}
	return err
}

func hasConfigVolumes(pod *corev1.Pod) bool {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.ConfigMap != nil || v.Secret != nil {
			return true
		}
		if v.Projected != nil && !isTokenVolume(v) {
			return true
		}
	}
	return false
}

// isTokenVolume reports whether a volume is the one that admission adds to every
// pod. What is in it is asked for when it is read (token.go).
func isTokenVolume(v *corev1.Volume) bool { return strings.HasPrefix(v.Name, "kube-api-access-") }

// Mounting a volume takes a moment; retries of a failed one come after 500 ms,
// doubling to 2 min 2 s (pkg/util/goroutinemap/exponentialbackoff).
const (
	mountTime      = 35 * time.Millisecond
	mountRetryBase = 500 * time.Millisecond
	mountRetryMax  = 122 * time.Second
)

// mountVolumes waits for the pod's volumes
// (pkg/kubelet/volumemanager WaitForAttachAndMount). A ConfigMap that does not
// exist keeps the pod waiting.
func (w *worker) mountVolumes(t *sim.Task) error {
	w.refreshTokens(t)
	if w.mounted && !hasConfigVolumes(w.pod) {
		return nil
	}
	first := !w.mounted
	var names []string
	for i := range w.pod.Spec.Volumes {
		v := &w.pod.Spec.Volumes[i]
		if _, err := w.volumeFiles(t, v); err != nil {
			err = fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", v.Name, err)
			w.kl.event(t, w.pod, corev1.EventTypeWarning, "FailedMount", "%v", err)
			delay := min(mountRetryBase<<min(w.mountFails, 10), mountRetryMax)
			w.mountFails++
			return &waitError{t.Now().Add(delay), err}
		}
		names = append(names, v.Name)
	}
	w.mountFails = 0
	if !first {
		return nil
	}
	w.mounted = true
	if len(names) > 0 {
		t.Sleep(mountTime)
	}
	t.SetCauses(t.Emit(trace.Event{
		Kind: trace.VolumesMounted, Object: client.RefOf(w.pod),
		Payload: &trace.PodStep{Node: w.kl.cfg.Node, Pod: w.key(), What: "volumes mounted", Detail: strings.Join(names, ", ")},
	}))
	return nil
}

func (w *worker) unmountVolumes(t *sim.Task) {
	if w.mounted {
		w.mounted = false
		t.SetCauses(t.Emit(trace.Event{
			Kind: trace.VolumesMounted, Object: client.RefOf(w.pod),
			Payload: &trace.PodStep{Node: w.kl.cfg.Node, Pod: w.key(), What: "volumes unmounted"},
		}))
	}
}

// volumeFiles are a volume's files by path within it.
func (w *worker) volumeFiles(t *sim.Task, v *corev1.Volume) (map[string]string, error) {
	ns := w.pod.Namespace
	switch {
	case v.ConfigMap != nil:
		data, err := w.kl.configMap(t, ns, v.ConfigMap.Name, v.ConfigMap.Optional)
		if err != nil {
			return nil, err
		}
		return pick(data, v.ConfigMap.Items, v.ConfigMap.Optional)
	case v.Secret != nil:
		data, err := w.kl.secret(t, ns, v.Secret.SecretName, v.Secret.Optional)
		if err != nil {
			return nil, err
		}
		return pick(data, v.Secret.Items, v.Secret.Optional)
	case v.Projected != nil:
		return w.projected(t, v)
	case v.DownwardAPI != nil:
		return w.downward(v.DownwardAPI.Items), nil
	}
	return nil, nil // emptyDir, hostPath …: empty
}

func (w *worker) projected(t *sim.Task, v *corev1.Volume) (map[string]string, error) {
	files := map[string]string{}
	for _, src := range v.Projected.Sources {
		var part map[string]string
		var err error
		switch {
		case src.ServiceAccountToken != nil:
			continue // when it is read
		case src.ConfigMap != nil && isTokenVolume(v):
			continue // likewise
		case src.ConfigMap != nil:
			if part, err = w.kl.configMap(t, w.pod.Namespace, src.ConfigMap.Name, src.ConfigMap.Optional); err == nil {
				part, err = pick(part, src.ConfigMap.Items, src.ConfigMap.Optional)
			}
		case src.Secret != nil:
			if part, err = w.kl.secret(t, w.pod.Namespace, src.Secret.Name, src.Secret.Optional); err == nil {
				part, err = pick(part, src.Secret.Items, src.Secret.Optional)
			}
		case src.DownwardAPI != nil:
			part = w.downward(src.DownwardAPI.Items)
		}
		if err != nil {
			return nil, err
		}
		maps.Copy(files, part)
	}
	return files, nil
}

// pick takes the wanted keys, or all.
func pick(data map[string]string, items []corev1.KeyToPath, optional *bool) (map[string]string, error) {
	if len(items) == 0 {
		return data, nil
	}
	out := map[string]string{}
	for _, it := range items {
		v, ok := data[it.Key]
		if !ok && (optional == nil || !*optional) {
			return nil, fmt.Errorf("references non-existent config key: %s", it.Key)
		}
		out[it.Path] = v
	}
	return out, nil
}

func (w *worker) downward(items []corev1.DownwardAPIVolumeFile) map[string]string {
	out := map[string]string{}
	for _, it := range items {
		if it.FieldRef != nil {
			out[it.Path], _ = w.field(it.FieldRef.FieldPath)
		}
	}
	return out
}

// field is a pod field as the downward API names it
// (kubelet_pods.go podFieldSelectorRuntimeValue).
func (w *worker) field(path string) (string, error) {
	m := &w.pod.ObjectMeta
	if name, ok := strings.CutPrefix(path, "metadata.labels['"); ok {
		return m.Labels[strings.TrimSuffix(name, "']")], nil
	}
	if name, ok := strings.CutPrefix(path, "metadata.annotations['"); ok {
		return m.Annotations[strings.TrimSuffix(name, "']")], nil
	}
	switch path {
	case "metadata.name":
		return m.Name, nil
	case "metadata.namespace":
		return m.Namespace, nil
	case "metadata.uid":
		return w.uid, nil
	case "metadata.labels":
		return formatMap(m.Labels), nil
	case "metadata.annotations":
		return formatMap(m.Annotations), nil
	case "spec.nodeName":
		return w.kl.cfg.Node, nil
	case "spec.serviceAccountName":
		return w.pod.Spec.ServiceAccountName, nil
	case "status.hostIP", "status.hostIPs":
		return w.kl.cfg.Address, nil
	case "status.podIP", "status.podIPs":
		return w.status.PodIP, nil
	}
	return "", fmt.Errorf("unsupported fieldPath: %v", path)
}

func formatMap(m map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "%s=%q\n", k, m[k])
	}
	return b.String()
}
