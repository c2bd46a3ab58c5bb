package kubelet

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/stdio"
)

// The kubelet's server, port 10250 (pkg/kubelet/server): what the API server asks it
// for when somebody wants a container's log, or to run a command in it.

// Container names a container of a pod.
type Container struct{ Namespace, Pod, Name string }

// ContainerLogs is GET /containerLogs/NAMESPACE/POD/CONTAINER
// (kubelet_pods.go GetKubeletContainerLogs).
func (kl *Kubelet) ContainerLogs(t *sim.Task, c Container, opts *corev1.PodLogOptions) (*LogStream, error) {
	w := kl.workerOf(c)
	if w == nil {
		return nil, fmt.Errorf("pod %q cannot be found - no logs available", c.Pod)
	}
	status := &w.status
	if !w.set { // this kubelet has not looked at the pod yet
		status = &w.pod.Status
	}
	id, err := loggedContainer(status, c, opts.Previous)
	if err != nil {
		return nil, err
	}
	r, err := kl.rt.OpenLog(id)
	if err != nil {
		return nil, err
	}
	if opts.Follow { // the connection ends with this process
		kl.p.Go("log of "+c.Pod, r.WaitClosed).OnEnd(r.Close)
	}
	return newLogStream(r, opts, t.Now()), nil
}

// workerOf is the newest pod of a name that this kubelet knows; nil if there is none.
func (kl *Kubelet) workerOf(c Container) (found *worker) {
	for _, w := range kl.sortedWorkers() {
		if w.pod.Namespace == c.Namespace && w.pod.Name == c.Pod && (found == nil || found.pod.CreationTimestamp.Before(&w.pod.CreationTimestamp)) {
			found = w
		}
	}
	return found
}

// loggedContainer is the id of the container whose log is meant, or why there is none
// (kubelet_pods.go validateContainerLogStatus).
func loggedContainer(status *corev1.PodStatus, c Container, previous bool) (string, error) {
	st := statusNamed(status.ContainerStatuses, c.Name)
	if st == nil {
		st = statusNamed(status.InitContainerStatuses, c.Name)
	}
	if st == nil {
		return "", fmt.Errorf("container %q in pod %q is not available", c.Name, c.Pod)
	}
	now, last := st.State, st.LastTerminationState.Terminated
	ended := fmt.Errorf("container %q in pod %q is terminated", c.Name, c.Pod)
	switch {
	case previous && (last == nil || last.ContainerID == ""):
		return "", fmt.Errorf("previous terminated container %q in pod %q not found", c.Name, c.Pod)
	case previous:
		return last.ContainerID, nil
	case now.Running != nil:
		return st.ContainerID, nil
	case now.Terminated != nil && now.Terminated.ContainerID != "":
		return now.Terminated.ContainerID, nil
	case last != nil && last.ContainerID != "":
		return last.ContainerID, nil
	case now.Terminated != nil || last != nil:
		return "", ended
	case now.Waiting == nil:
		return "", fmt.Errorf("container %q in pod %q is waiting to start - no logs yet", c.Name, c.Pod)
	}
	switch why := now.Waiting.Reason; why {
	case "ErrImagePull":
		return "", fmt.Errorf("container %q in pod %q is waiting to start: image can't be pulled", c.Name, c.Pod)
	case "ImagePullBackOff":
		return "", fmt.Errorf("container %q in pod %q is waiting to start: trying and failing to pull image", c.Name, c.Pod)
	default:
		return "", fmt.Errorf("container %q in pod %q is waiting to start: %v", c.Name, c.Pod, why)
	}
}

// LogStream is a container's log on its way to a client (cri-client pkg/logs
// ReadLogs).
type LogStream struct {
	from  *runtime.LogReader
	opts  *corev1.PodLogOptions
	since time.Time
	begun bool
	left  int64 // bytes that may still be given; -1: any number
}

func newLogStream(from *runtime.LogReader, opts *corev1.PodLogOptions, now time.Time) *LogStream {
	s := &LogStream{from: from, opts: opts, left: -1}
	if opts.LimitBytes != nil {
		s.left = *opts.LimitBytes
	}
	switch {
	case opts.SinceTime != nil:
		s.since = opts.SinceTime.Time
	case opts.SinceSeconds != nil:
		s.since = now.Add(-time.Duration(*opts.SinceSeconds) * time.Second)
	}
	return s
}

// Next gives more of the log, and whether there may be more after it. The first call
// comes back at once; with follow, later ones wait for the container to write.
func (s *LogStream) Next(t *sim.Task) (b []byte, more bool) {
	if s.begun && !s.from.Wait(t) {
		return nil, false
	}
	lines := s.from.Take()
	if n := s.opts.TailLines; !s.begun && n != nil {
		lines = lines[max(0, int64(len(lines))-*n):]
	}
	s.begun = true
	var out bytes.Buffer
	for _, l := range lines {
		if l.At.Before(s.since) || !s.wants(l.Stream) {
			continue
		}
		if s.opts.Timestamps {
			out.WriteString(l.At.Format(logTime) + " ")
		}
		out.WriteString(l.Text + "\n")
	}
	b = out.Bytes()
	if s.left >= 0 {
		b = b[:min(int64(len(b)), s.left)]
		s.left -= int64(len(b))
	}
	return b, s.opts.Follow && s.left != 0
}

// logTime is how timestamps are written (cri-client pkg/logs RFC3339NanoFixed).
const logTime = "2006-01-02T15:04:05.000000000Z07:00"

func (s *LogStream) wants(stream string) bool {
	return s.opts.Stream == nil || *s.opts.Stream == corev1.LogStreamAll || strings.EqualFold(*s.opts.Stream, stream)
}

// Close ends a Next that waits.
func (s *LogStream) Close() { s.from.Close() }

// Exec is POST /exec/NAMESPACE/POD/CONTAINER: it runs a command in a container that
// runs (kubelet_pods.go GetExec, then the runtime's streaming server) and gives its exit code. Its errors
// are in the words that the client puts before the kubelet's.
func (kl *Kubelet) Exec(t *sim.Task, c Container, argv []string, streams *stdio.Streams) (code int, err error) {
	id, err := kl.running(c, fmt.Sprintf("container not found (%q)", c.Name))
	if err != nil {
		return 0, err
	}
	if code, err = kl.rt.ExecStream(t, id, argv, streams); err != nil {
		var failed *runtime.Error
		if errors.As(err, &failed) && failed.Code == "Unknown" { // of the streaming server, where gRPC has no part
			err = errors.New(failed.Desc)
		}
		err = fmt.Errorf("error executing command in container: %w", err)
	}
	return code, err
}

// Attach is POST /attach/NAMESPACE/POD/CONTAINER: it joins the streams to those of a
// container that runs, until one of the two ends (kubelet_pods.go GetAttach). Errors are as those of Exec.
func (kl *Kubelet) Attach(t *sim.Task, c Container, streams *stdio.Streams) error {
	id, err := kl.running(c, fmt.Sprintf("container %s not found in pod %s_%s", c.Name, c.Pod, c.Namespace))
	if err != nil {
		return err
	}
	if err := kl.rt.Attach(t, id, streams); err != nil {
		return fmt.Errorf("error attaching to container: %w", err)
	}
	return nil
}

// running is the id of a container that runs; missing says what there is not.
func (kl *Kubelet) running(c Container, missing string) (id string, err error) {
	w := kl.workerOf(c)
	if w == nil {
		return "", errors.New("unable to upgrade connection: pod does not exist")
	}
	rs, err := kl.rt.PodStatus(w.uid)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(rs.Containers, func(o runtime.Container) bool { return o.Name == c.Name && o.State == runtime.Running })
	if i < 0 {
		return "", errors.New("unable to upgrade connection: " + missing)
	}
	return rs.Containers[i].ID, nil
}

// PortForward is a connection of POST /portForward/NAMESPACE/POD (kubelet_pods.go
// GetPortForward).
func (kl *Kubelet) PortForward(t *sim.Task, namespace, pod string, port int) (runtime.Answer, error) {
	w := kl.workerOf(Container{Namespace: namespace, Pod: pod})
	if w == nil {
		return runtime.Answer{}, fmt.Errorf("pod not found (%q)", pod+"_"+namespace)
	}
	return kl.rt.PortForward(t, w.uid, port)
}
