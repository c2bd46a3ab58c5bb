package kubelet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// renewed reports whether what is in a volume changes with what it comes from.
func renewed(v *corev1.Volume) bool {
	return v.ConfigMap != nil || v.Secret != nil || v.DownwardAPI != nil || v.Projected != nil && !isTokenVolume(v)
}

func hasRenewed(pod *corev1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if renewed(&pod.Spec.Volumes[i]) {
			return true
		}
	}
	return false
}

// hasDownward reports whether the pod has its own labels or annotations in a volume.
func hasDownward(pod *corev1.Pod) bool {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.DownwardAPI != nil {
			return true
		}
		if v.Projected != nil && !isTokenVolume(v) && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool { return s.DownwardAPI != nil }) {
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
// exist keeps the pod waiting. Once they are mounted each sync renews their contents; what
// cannot be renewed then stays as it is, and the pod goes on.
func (w *worker) mountVolumes(t *sim.Task) error {
	w.refreshTokens(t)
	w.expandClaims(t)
	if w.mounted && !hasRenewed(w.pod) {
		return nil
	}
	if err := w.wantClaims(t); err != nil {
		return err
	}
	var names []string
	var failed error
	for i := range w.pod.Spec.Volumes {
		v := &w.pod.Spec.Volumes[i]
		names = append(names, v.Name)
		err := w.writeVolume(t, v)
		if err == nil {
			continue
		}
		failed = fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", v.Name, err)
		w.kl.event(t, w.pod, corev1.EventTypeWarning, "FailedMount", "%v", failed)
		if !w.mounted {
			break
		}
	}
	w.mountRetry = 0
	if failed != nil {
		w.mountRetry = min(mountRetryBase<<min(w.mountFails, 10), mountRetryMax)
		w.mountFails++
		if !w.mounted {
			return &waitError{t.Now().Add(w.mountRetry), failed}
		}
		return nil
	}
	w.mountFails = 0
	if w.mounted {
		return nil
	}
	if err := w.mountClaims(t); err != nil {
		return err
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
	w.kl.volumes.release(t, w.uid, w.key())
	w.claims = nil
	w.kl.rt.RemoveVolumes(w.uid)
	clear(w.contents)
	if w.mounted {
		w.mounted = false
		t.SetCauses(t.Emit(trace.Event{
			Kind: trace.VolumesMounted, Object: client.RefOf(w.pod),
			Payload: &trace.PodStep{Node: w.kl.cfg.Node, Pod: w.key(), What: "volumes unmounted"},
		}))
	}
}

// writeVolume writes a volume's files if they come from something else than what they were
// last written from (pkg/volume/util/atomic_writer.go). A change of what containers may
// already read is an event, whose causes are those of the changes.
func (w *worker) writeVolume(t *sim.Task, v *corev1.Volume) error {
	parts, err := w.volumeFiles(t, v)
	if err != nil || parts == nil {
		return err
	}
	old, had := w.contents[v.Name]
	var versions []string
	var causes []trace.ID
	files := map[string]string{}
	for i, p := range parts {
		versions = append(versions, p.version)
		maps.Copy(files, p.data)
		if (i >= len(old) || old[i] != p.version) && !p.change.IsZero() && !slices.Contains(causes, p.change) {
			causes = append(causes, p.change)
		}
	}
	if had && slices.Equal(old, versions) {
		return nil
	}
	w.contents[v.Name] = versions
	changed, was := w.kl.rt.WriteVolume(w.uid, v.Name, files)
	if !was || len(changed) == 0 {
		return nil
	}
	causes = append(causes[max(0, len(causes)-maxCauses):], t.Causes()...)
	t.Emit(trace.Event{
		Kind: trace.VolumesMounted, Object: client.RefOf(w.pod), Causes: causes,
		Payload: &trace.PodStep{Node: w.kl.cfg.Node, Pod: w.key(), What: "volume updated", Detail: v.Name + ": " + someOf(changed)},
	})
	return nil
}

// someOf lists the first names of many.
func someOf(names []string) string {
	const most = 4
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// volumeFiles are a volume's files by path within it, in the parts that it comes from; nil
// for a volume that the kubelet writes nothing to.
func (w *worker) volumeFiles(t *sim.Task, v *corev1.Volume) ([]payload, error) {
	var part payload
	var err error
	switch {
	case v.HostPath != nil && !w.mounted && isMounted(w.pod, v.Name):
		return nil, w.hostPath(v.HostPath)
	case v.ConfigMap != nil:
		part, err = w.configMapFiles(t, v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.Optional)
	case v.Secret != nil:
		part, err = w.secretFiles(t, v.Secret.SecretName, v.Secret.Items, v.Secret.Optional)
	case v.Projected != nil:
		return w.projected(t, v)
	case v.DownwardAPI != nil:
		part = w.downward(v.DownwardAPI.Items)
	default:
		return nil, nil // emptyDir, hostPath …: empty
	}
	if err != nil {
		return nil, err
	}
	return []payload{part}, nil
}

// hostPath finds a path of the node's (pkg/volume/hostpath SetUpAt).
func (w *worker) hostPath(v *corev1.HostPathVolumeSource) error {
	typ := corev1.HostPathUnset
	if v.Type != nil {
		typ = *v.Type
	}
	return w.kl.rt.HostPath(v.Path, typ)
}

func (w *worker) configMapFiles(t *sim.Task, name string, items []corev1.KeyToPath, optional *bool) (payload, error) {
	p, err := w.configMap(t, name, optional)
	if err == nil {
		p.data, err = pick(p.data, items, optional, "configmap references non-existent config key: %s")
	}
	return p, err
}

func (w *worker) secretFiles(t *sim.Task, name string, items []corev1.KeyToPath, optional *bool) (payload, error) {
	p, err := w.secret(t, name, optional)
	if err == nil {
		p.data, err = pick(p.data, items, optional, "references non-existent secret key: %s")
	}
	return p, err
}

// projected are the parts of a volume that has several sources; every one that fails is in the
// error (projected.go collectData).
func (w *worker) projected(t *sim.Task, v *corev1.Volume) ([]payload, error) {
	parts := []payload{}
	var failed []error
	for i, src := range v.Projected.Sources {
		var part payload
		var err error
		switch {
		case src.ServiceAccountToken != nil:
			continue // when it is read
		case src.ConfigMap != nil && isTokenVolume(v):
			continue // likewise
		case src.ConfigMap != nil:
			part, err = w.configMapFiles(t, src.ConfigMap.Name, src.ConfigMap.Items, src.ConfigMap.Optional)
		case src.Secret != nil:
			part, err = w.secretFiles(t, src.Secret.Name, src.Secret.Items, src.Secret.Optional)
		case src.DownwardAPI != nil:
			part = w.downward(src.DownwardAPI.Items)
		case src.ClusterTrustBundle != nil:
			part, err = w.trustAnchors(t, src.ClusterTrustBundle)
		case src.PodCertificate != nil:
			part, err = w.podCertificate(v.Name, i, src.PodCertificate)
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		parts = append(parts, part)
	}
	if len(failed) > 0 {
		return nil, utilerrors.NewAggregate(failed)
	}
	return parts, nil
}

// pick takes the wanted keys, or all.
func pick(data map[string]string, items []corev1.KeyToPath, optional *bool, missing string) (map[string]string, error) {
	if len(items) == 0 {
		return data, nil
	}
	out := map[string]string{}
	for _, it := range items {
		v, ok := data[it.Key]
		if !ok {
			if optional != nil && *optional {
				continue
			}
			return nil, fmt.Errorf(missing, it.Key)
		}
		out[it.Path] = v
	}
	return out, nil
}

func (w *worker) downward(items []corev1.DownwardAPIVolumeFile) payload {
	p := payload{data: map[string]string{}}
	var version strings.Builder
	for _, it := range items {
		if it.FieldRef != nil {
			text, _ := w.field(it.FieldRef.FieldPath)
			p.data[it.Path] = text
			fmt.Fprintf(&version, "%d %s", len(text), text)
		}
	}
	p.version = version.String()
	return p
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
