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
	if err := verifyRunAsNonRoot(w.pod, c); err != nil {
		return cfg, createConfigError, err
	}
	attempt := int32(0)
	if last := latest(rs, c.Name); last != nil {
		attempt = last.Attempt + 1
	} else if st := statusNamed(append(w.pod.Status.ContainerStatuses, w.pod.Status.InitContainerStatuses...), c.Name); st != nil && st.ContainerID != "" {
		attempt = st.RestartCount + 1
	}
	cfg = Describe(w.pod, c, init)
	cfg.Attempt, cfg.Hash, cfg.Env, cfg.OnRead = attempt, hashOf(c), env, w.readLater(c)
	for i := range cfg.Mounts {
		w.placed(&cfg.Mounts[i])
	}
	cfg.Command, cfg.Args = expandAll(c.Command, env), expandAll(c.Args, env)
	cfg.Stdin, cfg.StdinOnce, cfg.TTY = c.Stdin, c.StdinOnce, c.TTY
	cfg.MessagePath = c.TerminationMessagePath
	cfg.LogTail = c.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError
	cfg.GraceSeconds = w.gracePeriod()
	cfg.RequestsCPU, cfg.RequestsMemory = c.Resources.Requests.Cpu().MilliValue(), c.Resources.Requests.Memory().Value()
	cfg.LimitsCPU, cfg.LimitsMemory = c.Resources.Limits.Cpu().MilliValue(), c.Resources.Limits.Memory().Value()
	return cfg, "", nil
}

// Describe is what a container's behaviour depends on, as far as the pod alone tells. init
// says that it is one of the init containers.
func Describe(pod *corev1.Pod, c *corev1.Container, init bool) runtime.ContainerConfig {
	cfg := runtime.ContainerConfig{
		Name: c.Name, Image: c.Image, Command: c.Command, Args: c.Args, Init: init, Stdin: c.Stdin,
		Behaviour: pod.Annotations[runtime.BehaviourAnnotation+"."+c.Name],
		Finishes:  finishes(pod, c, init),
		NonRoot:   mustNotBeRoot(pod, c.SecurityContext) && runAsUser(pod, c) == nil,
	}
	if cfg.Behaviour == "" && !init {
		cfg.Behaviour = pod.Annotations[runtime.BehaviourAnnotation]
	}
	for _, p := range c.Ports {
		cfg.Ports = append(cfg.Ports, int(p.ContainerPort))
	}
	cfg.Mounts = mounts(pod, c)
	return cfg
}

// mounts are what the runtime is asked to mount into a container.
func mounts(pod *corev1.Pod, c *corev1.Container) []runtime.Mount {
	volumes := make(map[string]*corev1.Volume, len(pod.Spec.Volumes))
	for i := range pod.Spec.Volumes {
		volumes[pod.Spec.Volumes[i].Name] = &pod.Spec.Volumes[i]
	}
	var all []runtime.Mount
	for _, m := range c.VolumeMounts {
		of := runtime.Mount{Volume: m.Name, Path: path.Clean(m.MountPath), SubPath: m.SubPath, ReadOnly: m.ReadOnly}
		if v := volumes[m.Name]; v != nil && v.EmptyDir != nil {
			of.EmptyDir = true
		} else if v != nil && v.HostPath != nil {
			of.HostPath = path.Clean(v.HostPath.Path)
		}
		all = append(all, of)
	}
	return all
}

// finishes reports whether a container is there to do something and end: an init
// container that is no sidecar, or one of a pod that does not restart it and that nobody
// connects to.
func finishes(pod *corev1.Pod, c *corev1.Container, init bool) bool {
	if init {
		return !isSidecar(c)
	}
	once := pod.Spec.RestartPolicy == corev1.RestartPolicyNever || pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure
	return once && len(c.Ports) == 0 && c.ReadinessProbe == nil && c.LivenessProbe == nil && c.StartupProbe == nil
}

// verifyRunAsNonRoot is upstream's (pkg/kubelet/kuberuntime/security_context_others.go).
func verifyRunAsNonRoot(pod *corev1.Pod, c *corev1.Container) error {
	if !mustNotBeRoot(pod, c.SecurityContext) {
		return nil
	}
	of := fmt.Sprintf("(pod: %q, container: %s)", fmt.Sprintf("%s_%s(%s)", pod.Name, pod.Namespace, pod.UID), c.Name)
	if user := runAsUser(pod, c); user != nil {
		if *user == 0 {
			return fmt.Errorf("container's runAsUser breaks non-root policy %s", of)
		}
		return nil
	}
	switch uid, name := runtime.ImageUser(c.Image); {
	case name != "":
		return fmt.Errorf("container has runAsNonRoot and image has non-numeric user (%s), cannot verify user is non-root %s", name, of)
	case uid == 0:
		return fmt.Errorf("container has runAsNonRoot and image will run as root %s", of)
	}
	return nil
}

func mustNotBeRoot(pod *corev1.Pod, sc *corev1.SecurityContext) bool {
	if sc != nil && sc.RunAsNonRoot != nil {
		return *sc.RunAsNonRoot
	}
	psc := pod.Spec.SecurityContext
	return psc != nil && psc.RunAsNonRoot != nil && *psc.RunAsNonRoot
}

// runAsUser is the user that the pod asks for; nil if it leaves it to the image.
func runAsUser(pod *corev1.Pod, c *corev1.Container) *int64 {
	if c.SecurityContext != nil && c.SecurityContext.RunAsUser != nil {
		return c.SecurityContext.RunAsUser
	}
	if pod.Spec.SecurityContext != nil {
		return pod.Spec.SecurityContext.RunAsUser
	}
	return nil
}

// environment is the container's environment
// (kubelet_pods.go makeEnvironmentVariables). Of the Services only the API
// server's is in it.
func (w *worker) environment(t *sim.Task, c *corev1.Container) (map[string]string, error) {
	env := map[string]string{"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443", "KUBERNETES_SERVICE_PORT_HTTPS": "443"}
	for _, from := range c.EnvFrom {
		var p payload
		var err error
		switch {
		case from.ConfigMapRef != nil:
			p, err = w.configMap(t, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
		case from.SecretRef != nil:
			p, err = w.secret(t, from.SecretRef.Name, from.SecretRef.Optional)
		}
		if err != nil {
			return nil, err
		}
		for k, v := range p.data {
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
		p, err := w.configMap(t, r.Name, r.Optional)
		return keyOf(p.data, r.Key, "ConfigMap", ns+"/"+r.Name, r.Optional, err)
	case from.SecretKeyRef != nil:
		r := from.SecretKeyRef
		p, err := w.secret(t, r.Name, r.Optional)
		return keyOf(p.data, r.Key, "Secret", ns+"/"+r.Name, r.Optional, err)
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

// readLater are the files of the volumes a container mounts that are filled when they
// are read.
func (w *worker) readLater(c *corev1.Container) map[string]runtime.File {
	later := map[string]runtime.File{}
	for _, m := range c.VolumeMounts {
		for i := range w.pod.Spec.Volumes {
			v := &w.pod.Spec.Volumes[i]
			if v.Name != m.Name || v.Projected == nil {
				continue
			}
			for j := range v.Projected.Sources {
				for _, name := range onRead(v, &v.Projected.Sources[j]) {
					if m.SubPath == "" {
						later[path.Join(m.MountPath, name)] = runtime.File{Volume: v.Name, Path: name}
					} else if m.SubPath == name {
						later[m.MountPath] = runtime.File{Volume: v.Name, Path: name}
					}
				}
			}
		}
	}
	return later
}
