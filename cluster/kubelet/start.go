package kubelet

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/client"
	"kviz/cluster/registry"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// startError is why a container could not be started: what its status shows as
// waiting (pkg/kubelet/reason_cache.go).
type startError struct {
	reason  string // ErrImagePull, ImagePullBackOff, CrashLoopBackOff, …
	message string
}

// Error is "reason: message".
func (e startError) Error() string { return e.reason + ": " + e.message }

// The reasons (pkg/kubelet/images, pkg/kubelet/kuberuntime).
const (
	crashLoopBackOff  = "CrashLoopBackOff"
	imagePullBackOff  = "ImagePullBackOff"
	errImagePull      = "ErrImagePull"
	errImageNever     = "ErrImageNeverPull"
	invalidImageName  = "InvalidImageName"
	createConfigError = "CreateContainerConfigError"
	createError       = "CreateContainerError"
	runError          = "RunContainerError"
	postStartError    = "PostStartHookError"
)

// startContainer is back-off, image, create, start, postStart
// (kuberuntime_container.go startContainer). did is false if it only waits.
func (w *worker) startContainer(t *sim.Task, sandbox string, c *corev1.Container, rs runtime.PodStatus, init bool) (did bool, err error) {
	fail := func(reason, message string, err error) error {
		w.reasons[c.Name] = startError{reason, message}
		if err == nil {
			err = startError{reason, message}
		}
		return err
	}
	kl := w.kl
	if wait := w.crashWait(t, c, lastEnded(rs, c.Name)); wait != nil {
		return false, fail(crashLoopBackOff, wait.Error(), wait)
	}
	if reason, message, err := w.ensureImage(t, c); reason != "" {
		kl.containerEvent(t, w.pod, c.Name, corev1.EventTypeWarning, "Failed", "Error: %s", reason)
		return true, fail(reason, message, err)
	}
	cfg, reason, err := w.containerConfig(t, c, rs, init)
	if err != nil {
		kl.containerEvent(t, w.pod, c.Name, corev1.EventTypeWarning, "Failed", "Error: %v", err)
		return true, fail(reason, err.Error(), nil)
	}
	id, err := kl.rt.CreateContainer(t, sandbox, cfg)
	if err != nil {
		kl.containerEvent(t, w.pod, c.Name, corev1.EventTypeWarning, "Failed", "Error: %s", grpcMessage(err))
		return true, fail(createError, grpcMessage(err), nil)
	}
	kl.containerEvent(t, w.pod, c.Name, corev1.EventTypeNormal, "Created", "Container created")
	if err := kl.rt.StartContainer(t, id); err != nil {
		kl.containerEvent(t, w.pod, c.Name, corev1.EventTypeWarning, "Failed", "Error: %s", grpcMessage(err))
		return true, fail(runError, grpcMessage(err), nil)
	}
	kl.containerEvent(t, w.pod, c.Name, corev1.EventTypeNormal, "Started", "Container started")
	w.pruneContainers(t, c.Name)
	if c.Lifecycle != nil && c.Lifecycle.PostStart != nil {
		if err := w.runHook(t, c, id, c.Lifecycle.PostStart, 0); err != nil {
			kl.containerEvent(t, w.pod, c.Name, corev1.EventTypeWarning, "FailedPostStartHook", "PostStartHook failed")
			if con, ok := kl.rt.Container(id); ok {
				if err := w.killContainer(t, con, "FailedPostStartHook", w.gracePeriod()); err != nil {
					return true, err
				}
			}
			return true, fail(postStartError, err.Error(), nil)
		}
	}
	return true, nil
}

// grpcMessage is an error without gRPC's frame.
func grpcMessage(err error) string {
	var e *runtime.Error
	if errors.As(err, &e) {
		return e.Desc
	}
	return err.Error()
}

// lastEnded is the newest container of a name that had ended when the sync
// began. One that this sync has killed for its probe does not count: so the
// delay of a container that fails its probe begins one restart later.
func lastEnded(rs runtime.PodStatus, name string) *runtime.Container {
	for i := range rs.Containers {
		if rs.Containers[i].Name == name && rs.Containers[i].State == runtime.Exited {
			return &rs.Containers[i]
		}
	}
	return nil
}

// crashWait reports the time a crashed container still has to wait
// (kuberuntime_manager.go doBackOff); nil when it may start.
func (w *worker) crashWait(t *sim.Task, c *corev1.Container, last *runtime.Container) *waitError {
	if last == nil {
		return nil
	}
	key := w.uid + "_" + c.Name + "_" + hashOf(c)
	delay := w.kl.crash.since(key, last.FinishedAt, t.Now())
	if delay == 0 {
		w.kl.crash.next(key, last.FinishedAt, t.Now())
		return nil
	}
	until := last.FinishedAt.Add(delay)
	podName := fmt.Sprintf("%s_%s(%s)", w.pod.Name, w.pod.Namespace, w.uid)
	w.kl.containerEvent(t, w.pod, c.Name, corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container %s in pod %s", c.Name, podName)
	t.SetCauses(t.Emit(trace.Event{Kind: trace.RestartBackoff, Object: client.RefOf(w.pod), Payload: &trace.PodStep{
		Node: w.kl.cfg.Node, Pod: w.key(), Container: c.Name, What: crashLoopBackOff,
		Detail: fmt.Sprintf("the container ended at %s; it restarts %s after that", last.FinishedAt.UTC().Format(time.TimeOnly), delay), For: until.Sub(t.Now()),
	}}))
	return &waitError{until, fmt.Errorf("back-off %s restarting failed container=%s pod=%s", delay, c.Name, podName)}
}

// ensureImage has the container's image on the node
// (pkg/kubelet/images/image_manager.go EnsureImageExists). reason is "" when it is.
func (w *worker) ensureImage(t *sim.Task, c *corev1.Container) (reason, message string, err error) {
	kl := w.kl
	full, err := registry.Normalize(c.Image)
	if err != nil {
		message = fmt.Sprintf("Failed to apply default image tag %q: couldn't parse image name %q: %v", c.Image, c.Image, errors.Unwrap(err))
		kl.containerEvent(t, w.pod, c.Name, corev1.EventTypeWarning, "InspectFailed", "%s", message)
		return invalidImageName, message, nil
	}
	if c.ImagePullPolicy != corev1.PullAlways {
		ref, err := kl.rt.ImageRef(c.Image)
		if err != nil {
			return "ImageInspectError", err.Error(), nil
		}
		if ref != "" {
			kl.containerEvent(t, w.pod, c.Name, corev1.EventTypeNormal, "Pulled", "Container image %q already present on machine and can be accessed by the pod", c.Image)
			return "", "", nil
		}
		if c.ImagePullPolicy == corev1.PullNever {
			message = fmt.Sprintf("Container image %q is not present with pull policy of Never", c.Image)
			kl.containerEvent(t, w.pod, c.Name, corev1.EventTypeWarning, errImageNever, "%s", message)
			return errImageNever, message, nil
		}
	}
	return w.pullImage(t, c, taggedName(c.Image, full))
}

// taggedName is the name with its tag, and no more: what the Events show.
func taggedName(image, full string) string {
	if strings.HasSuffix(full, ":latest") && !strings.HasSuffix(image, ":latest") {
		return image + ":latest"
	}
	return image
}

func (w *worker) pullImage(t *sim.Task, c *corev1.Container, image string) (reason, message string, err error) {
	kl, key := w.kl, w.uid+"_"+image
	if delay := kl.pull.sinceUpdate(key, t.Now()); delay > 0 {
		message = fmt.Sprintf("Back-off pulling image %q", image)
		kl.containerEvent(t, w.pod, c.Name, corev1.EventTypeNormal, "BackOff", "%s", message)
		until := kl.pull.entries[key].updated.Add(delay)
		t.SetCauses(t.Emit(trace.Event{Kind: trace.RestartBackoff, Object: client.RefOf(w.pod), Payload: &trace.PodStep{
			Node: kl.cfg.Node, Pod: w.key(), Container: c.Name, What: imagePullBackOff, Detail: image, For: until.Sub(t.Now()),
		}}))
		if prev := kl.pullErr[key]; prev != "" {
			message += ": " + prev
		}
		return imagePullBackOff, message, &waitError{until, startError{imagePullBackOff, message}}
	}
	kl.containerEvent(t, w.pod, c.Name, corev1.EventTypeNormal, "Pulling", "Pulling image %q", image)
	_, size, took, err := kl.rt.PullImage(t, w.key(), c.Name, image)
	if err != nil {
		kl.containerEvent(t, w.pod, c.Name, corev1.EventTypeWarning, "Failed", "Failed to pull image %q: %v", image, err)
		kl.pull.next(key, t.Now(), t.Now())
		kl.pullErr[key] = errImagePull + ": " + err.Error()
		message = err.Error()
		return errImagePull, message, startError{errImagePull, message}
	}
	delete(kl.pullErr, key)
	took = took.Truncate(time.Millisecond)
	kl.containerEvent(t, w.pod, c.Name, corev1.EventTypeNormal, "Pulled", "Successfully pulled image %q in %v (%v including waiting). Image size: %v bytes.", image, took, took, size)
	kl.node.check("images", t.Causes()[0])
	return "", "", nil
}

// pruneContainers keeps the newest container of a name and the one before it, as
// the kubelet's garbage collection does (MaxPerPodContainer 1).
func (w *worker) pruneContainers(t *sim.Task, name string) {
	rs, err := w.runtimeStatus()
	if err != nil {
		return
	}
	kept := 0
	for _, c := range rs.Containers {
		if c.Name != name {
			continue
		}
		if kept++; kept > 2 && c.State != runtime.Running {
			if err := w.kl.rt.RemoveContainer(t, c.ID); err != nil {
				return // the next start tries again
			}
		}
	}
}
