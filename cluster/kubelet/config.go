package kubelet

import (
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/runtime"
	"kviz/cluster/sim"
)

// containerConfig is what the runtime is asked to create
// (kuberuntime_container.go generateContainerConfig). reason says what kind of
// error it is.
func (w *worker) containerConfig(t *sim.Task, c *corev1.Container, rs runtime.PodStatus, init bool) (cfg runtime.ContainerConfig, reason string, err error) {
	env, err := w.environment(t, c)
	if err != nil {
		return cfg, createConfigError, err
	}
	if sc := c.SecurityContext; runsAsRoot(w.pod, c) && mustNotBeRoot(w.pod, sc) {
		return cfg, createConfigError, fmt.Errorf("container has runAsNonRoot and image will run as root (pod: %q, container: %s)", fmt.Sprintf("%s_%s(%s)", w.pod.Name, w.pod.Namespace, w.uid), c.Name)
	}
	files, onRead, err := w.mountedFiles(t, c)
	if err != nil {
		return cfg, createConfigError, err
	}
	attempt := int32(0)
	if last := latest(rs, c.Name); last != nil {
		attempt = last.Attempt + 1
	} else if st := statusNamed(append(w.pod.Status.ContainerStatuses, w.pod.Status.InitContainerStatuses...), c.Name); st != nil && st.ContainerID != "" {
		attempt = st.RestartCount + 1
	}
	cfg = runtime.ContainerConfig{
		Name: c.Name, Image: c.Image, Attempt: attempt, Init: init, Hash: hashOf(c), Env: env, Files: files, OnRead: onRead,
		Command: expandAll(c.Command, env), Args: expandAll(c.Args, env),
		Stdin: c.Stdin, StdinOnce: c.StdinOnce, TTY: c.TTY,
		Behaviour:    w.pod.Annotations[runtime.BehaviourAnnotation+"."+c.Name],
		MessagePath:  c.TerminationMessagePath,
		LogTail:      c.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError,
		GraceSeconds: w.gracePeriod(),
		RequestsCPU:  c.Resources.Requests.Cpu().MilliValue(), RequestsMemory: c.Resources.Requests.Memory().Value(), LimitsMemory: c.Resources.Limits.Memory().Value(),
	}
	if cfg.Behaviour == "" && !init {
		cfg.Behaviour = w.pod.Annotations[runtime.BehaviourAnnotation]
	}
	for _, p := range c.Ports {
		cfg.Ports = append(cfg.Ports, int(p.ContainerPort))
	}
	return cfg, "", nil
}

func mustNotBeRoot(pod *corev1.Pod, sc *corev1.SecurityContext) bool {
	if sc != nil && sc.RunAsNonRoot != nil {
		return *sc.RunAsNonRoot
	}
	psc := pod.Spec.SecurityContext
	return psc != nil && psc.RunAsNonRoot != nil && *psc.RunAsNonRoot
}

// runsAsRoot: the simulated images all run as root unless told otherwise.
func runsAsRoot(pod *corev1.Pod, c *corev1.Container) bool {
	if c.SecurityContext != nil && c.SecurityContext.RunAsUser != nil {
		return *c.SecurityContext.RunAsUser == 0
	}
	if psc := pod.Spec.SecurityContext; psc != nil && psc.RunAsUser != nil {
		return *psc.RunAsUser == 0
	}
	return !strings.Contains(c.Image, "unprivileged") && !strings.Contains(c.Image, "nonroot")
}

// environment is the container's environment
// (kubelet_pods.go makeEnvironmentVariables). Of the Services only the API
// server's is in it.
func (w *worker) environment(t *sim.Task, c *corev1.Container) (map[string]string, error) {
	env := map[string]string{"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443", "KUBERNETES_SERVICE_PORT_HTTPS": "443"}
	for _, from := range c.EnvFrom {
		var data map[string]string
		var err error
		switch {
		case from.ConfigMapRef != nil:
			data, err = w.kl.configMap(t, w.pod.Namespace, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
		case from.SecretRef != nil:
			data, err = w.kl.secret(t, w.pod.Namespace, from.SecretRef.Name, from.SecretRef.Optional)
		}
		if err != nil {
			return nil, err
		}
		for k, v := range data {
			env[from.Prefix+k] = v
		}
	}
	for _, e := range c.Env {
		v, ok, err := w.envValue(t, c, e, env)
		if err != nil {
			return nil, err
		}
		if ok {
			env[e.Name] = v
		}
	}
	return env, nil
}

func (w *worker) envValue(t *sim.Task, c *corev1.Container, e corev1.EnvVar, env map[string]string) (v string, ok bool, err error) {
	if e.ValueFrom == nil {
		return expandVars(e.Value, env), true, nil
	}
	from, ns := e.ValueFrom, w.pod.Namespace
	switch {
	case from.FieldRef != nil:
		v, err = w.field(from.FieldRef.FieldPath)
		return v, err == nil, err
	case from.ResourceFieldRef != nil:
		return resourceField(c, from.ResourceFieldRef.Resource), true, nil
	case from.ConfigMapKeyRef != nil:
		r := from.ConfigMapKeyRef
		data, err := w.kl.configMap(t, ns, r.Name, r.Optional)
		return keyOf(data, r.Key, "ConfigMap", ns+"/"+r.Name, r.Optional, err)
	case from.SecretKeyRef != nil:
		r := from.SecretKeyRef
		data, err := w.kl.secret(t, ns, r.Name, r.Optional)
		return keyOf(data, r.Key, "Secret", ns+"/"+r.Name, r.Optional, err)
	}
	return "", false, nil
}

func keyOf(data map[string]string, key, kind, name string, optional *bool, err error) (string, bool, error) {
	if err != nil {
		return "", false, err
	}
	v, ok := data[key]
	if !ok && (optional == nil || !*optional) {
		return "", false, fmt.Errorf("couldn't find key %s in %s %s", key, kind, name)
	}
	return v, ok, nil
}

func resourceField(c *corev1.Container, name string) string {
	kind, res, _ := strings.Cut(name, ".")
	list := c.Resources.Requests
	if kind == "limits" {
		list = c.Resources.Limits
	}
	q := list[corev1.ResourceName(res)]
	if res == "cpu" {
		return fmt.Sprint((q.MilliValue() + 999) / 1000)
	}
	return fmt.Sprint(q.Value())
}

// mountedFiles are the files of the volumes a container mounts: those that stand there,
// and those that are filled when they are read.
func (w *worker) mountedFiles(t *sim.Task, c *corev1.Container) (files map[string]string, later map[string]runtime.File, err error) {
	files, later = map[string]string{}, map[string]runtime.File{}
	for _, m := range c.VolumeMounts {
		for i := range w.pod.Spec.Volumes {
			v := &w.pod.Spec.Volumes[i]
			if v.Name != m.Name {
				continue
			}
			here, err := w.volumeFiles(t, v)
			if err != nil {
				return nil, nil, err
			}
			for name, text := range here {
				if at, ok := mountedAt(&m, name); ok {
					files[at] = text
				}
			}
			if v.Projected == nil {
				continue
			}
			for j := range v.Projected.Sources {
				for _, name := range onRead(v, &v.Projected.Sources[j]) {
					if at, ok := mountedAt(&m, name); ok {
						later[at] = runtime.File{Volume: v.Name, Path: name}
					}
				}
			}
		}
	}
	return files, later, nil
}

// mountedAt is where a file of a volume is in the container; false if only another
// file of it is mounted.
func mountedAt(m *corev1.VolumeMount, name string) (string, bool) {
	if m.SubPath != "" {
		return m.MountPath, name == m.SubPath
	}
	return path.Join(m.MountPath, name), true
}
