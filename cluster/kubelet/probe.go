package kubelet

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kviz/cluster/client"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// probeKind is one of the three probes; its text is what Events say.
type probeKind string

const (
	startup   probeKind = "Startup"
	liveness  probeKind = "Liveness"
	readiness probeKind = "Readiness"
)

// result is what a probe currently stands for (pkg/kubelet/prober/results).
type result uint8

const (
	unknown result = iota
	success
	failure
)

// prober probes one container for one purpose (pkg/kubelet/prober/worker.go).
// Its result changes only when a threshold is reached; it begins with the
// result that harms nobody: liveness success, readiness failure, startup
// unknown.
type prober struct {
	w    *worker
	kind probeKind
	c    *corev1.Container
	spec *corev1.Probe
	id   string // of the container
	born time.Time

	result  result
	last    result // of the last single probe
	run     int    // how often in a row it was that
	told    bool   // the last outcome is in the trace
	onHold  bool   // until a new container
	stopped bool
	timer   *sim.Timer
	after   trace.ID // the startup probe's success that let this one begin; zero: the container's start
}

func probeOf(c *corev1.Container, kind probeKind) *corev1.Probe {
	switch kind {
	case startup:
		return c.StartupProbe
	case liveness:
		return c.LivenessProbe
	}
	return c.ReadinessProbe
}

func (w *worker) prober(name string, kind probeKind, id string) *prober {
	p := w.probes[name+"/"+string(kind)]
	if p == nil || p.id != id {
		return nil
	}
	return p
}

func (w *worker) probeFailed(name string, kind probeKind, id string) bool {
	p := w.prober(name, kind, id)
	return p != nil && p.result == failure
}

// probeSucceeded: a container that was ready before this kubelet started stays
// so until a probe says otherwise.
func (w *worker) probeSucceeded(name string, kind probeKind, id string) bool {
	if p := w.prober(name, kind, id); p != nil {
		return p.result == success
	}
	for _, list := range [][]corev1.ContainerStatus{w.pod.Status.ContainerStatuses, w.pod.Status.InitContainerStatuses} {
		if st := statusNamed(list, name); st != nil && st.ContainerID == "containerd://"+id {
			return kind == readiness && st.Ready || kind == startup && st.Started != nil && *st.Started
		}
	}
	return false
}

// startProbes has a prober for every probe of every running container
// (prober_manager.go AddPod).
func (w *worker) startProbes(t *sim.Task, rs runtime.PodStatus) {
	w.eachProbed(func(c *corev1.Container) {
		con := latest(rs, c.Name)
		if con == nil || con.State != runtime.Running {
			return
		}
		for _, kind := range []probeKind{startup, liveness, readiness} {
			spec := probeOf(c, kind)
			if spec == nil || w.prober(c.Name, kind, con.ID) != nil {
				continue
			}
			was := w.probeSucceeded(c.Name, kind, con.ID)
			key := c.Name + "/" + string(kind)
			if old := w.probes[key]; old != nil {
				old.stop()
			}
			p := &prober{w: w, kind: kind, c: c, spec: spec, id: con.ID, born: con.StartedAt}
			switch {
			case kind == liveness, was:
				p.result = success
			case kind == readiness:
				p.result = failure
			}
			w.probes[key] = p
			p.begin(t.Now())
		}
	})
}

func (w *worker) eachProbed(fn func(*corev1.Container)) {
	for i := range w.pod.Spec.InitContainers {
		if c := &w.pod.Spec.InitContainers[i]; isSidecar(c) {
			fn(c)
		}
	}
	for i := range w.pod.Spec.Containers {
		fn(&w.pod.Spec.Containers[i])
	}
}

// stopProbes ends all probing of the pod.
func (w *worker) stopProbes() {
	for _, p := range w.probes {
		p.stop()
	}
}

// quietProbes ends the probes that could restart a container
// (prober_manager.go StopLivenessAndStartup).
func (w *worker) quietProbes() {
	for _, p := range w.probes {
		if p.kind != readiness {
			p.stop()
		}
	}
}

func (p *prober) stop() {
	p.stopped = true
	if p.timer != nil {
		p.timer.Cancel()
	}
}

func (p *prober) period() time.Duration { return seconds32(p.spec.PeriodSeconds, 10) }

func seconds32(n int32, def int32) time.Duration {
	if n <= 0 {
		n = def
	}
	return time.Duration(n) * time.Second
}

// begin plans the first probe: initialDelaySeconds after the container's start.
// A kubelet that has just started spreads its probes over a period, so that
// they do not come all at once.
func (p *prober) begin(now time.Time) {
	first := p.born.Add(time.Duration(p.spec.InitialDelaySeconds) * time.Second)
	kl := p.w.kl
	if p.born.Before(kl.k.Epoch().Add(kl.started)) {
		first = now.Add(time.Duration(kl.rand.Float64() * float64(p.period())))
	}
	p.plan(max(first.Sub(now), 0))
}

func (p *prober) plan(d time.Duration) {
	p.timer = p.w.kl.after(d, "probe "+p.w.key()+"/"+p.c.Name, p.tick)
}

// tick is one probe (worker.go doProbe).
func (p *prober) tick(t *sim.Task) {
	if p.stopped || p.onHold || p.w.prober(p.c.Name, p.kind, p.id) != p {
		return
	}
	began := t.Now()
	con, ok := p.w.kl.rt.Container(p.id)
	if !ok || con.State != runtime.Running {
		if p.kind == readiness {
			p.result = failure
		}
		return // a new container gets a new prober
	}
	t.SetCauses(con.StartedBy)
	if !p.after.IsZero() {
		t.SetCauses(p.after)
	}
	if p.mayProbe() {
		p.w.kl.contain(t, p.w.pod, "the "+strings.ToLower(string(p.kind))+" probe of container "+p.c.Name, func() { p.probe(t) })
	}
	if !p.stopped && !p.onHold {
		p.plan(p.period() - t.Now().Sub(began))
	}
}

// mayProbe: the startup probe comes first and holds the others back.
func (p *prober) mayProbe() bool {
	started := p.c.StartupProbe == nil || p.w.probeSucceeded(p.c.Name, startup, p.id)
	return started == (p.kind != startup)
}

func (p *prober) probe(t *sim.Task) {
	ok, output, err := p.once(t)
	if p.stopped {
		return
	}
	if err != nil { // of no result (worker.go doProbe)
		p.w.kl.containerEvent(t, p.w.pod, p.c.Name, corev1.EventTypeWarning, "Unhealthy", "%s probe errored and resulted in unknown state: %v", p.kind, err)
		return
	}
	kl, threshold, now := p.w.kl, max(p.spec.FailureThreshold, 1), failure
	if ok {
		threshold, now = max(p.spec.SuccessThreshold, 1), success
	} else {
		kl.containerEvent(t, p.w.pod, p.c.Name, corev1.EventTypeWarning, "Unhealthy", "%s probe failed: %s", p.kind, output)
	}
	if p.last == now {
		p.run++
	} else {
		p.last, p.run, p.told = now, 1, false
	}
	reached := p.run >= int(threshold) && p.result != now
	var id trace.ID
	if !p.told || reached {
		p.told = true
		pr := &trace.Probe{Node: kl.cfg.Node, Pod: p.w.key(), Container: p.c.Name, Probe: strings.ToLower(string(p.kind)), OK: ok, Output: output, Threshold: threshold}
		if !ok {
			pr.Failures = int32(p.run)
		}
		id = t.Emit(trace.Event{Kind: trace.ProbeResult, Object: client.RefOf(p.w.pod), Payload: pr})
	}
	if !reached {
		return
	}
	p.result = now
	if p.kind == startup || p.kind == liveness && now == failure {
		p.onHold = true
	}
	p.w.probed(t, p, id)
}

// probed tells the pod worker of a result; the status does not wait for it.
func (w *worker) probed(t *sim.Task, p *prober, id trace.ID) {
	if p.kind == startup && p.result == success {
		for _, kind := range []probeKind{liveness, readiness} { // do not wait for their next tick
			if o := w.prober(p.c.Name, kind, p.id); o != nil && !o.stopped {
				o.timer.Cancel()
				o.after = id
				o.plan(0)
			}
		}
	}
	if w.busy {
		if rs, err := w.runtimeStatus(); err == nil {
			t.SetCauses(id)
			w.setStatus(t, w.generateStatus(t, rs, false))
		}
	}
	if w.phase == syncing {
		w.wake(strings.ToLower(string(p.kind))+" probe", id)
	}
}

// once runs the probe's handler (pkg/kubelet/prober/prober.go runProbe). An error is that
// of a command that could not be run.
func (p *prober) once(t *sim.Task) (ok bool, output string, err error) {
	if p.spec.Exec == nil {
		ok, output = p.ask(t)
		return ok, output, nil
	}
	limit := seconds32(p.spec.TimeoutSeconds, 1)
	res, err := p.w.kl.rt.Exec(t, p.id, p.spec.Exec.Command, limit)
	var failed *runtime.Error
	switch {
	case errors.As(err, &failed) && failed.Code == "DeadlineExceeded":
		return false, fmt.Sprintf("command timed out: %q timed out after %s", strings.Join(p.spec.Exec.Command, " "), limit), nil
	case err != nil:
		return false, "", err
	}
	return res.Code == 0, strings.TrimSuffix(res.Stdout+res.Stderr, "\n"), nil
}

// ask connects to the container, as the handler says.
func (p *prober) ask(t *sim.Task) (ok bool, output string) {
	limit := seconds32(p.spec.TimeoutSeconds, 1)
	ip := p.w.status.PodIP
	switch {
	case p.spec.HTTPGet != nil:
		return p.httpGet(t, ip, limit)
	case p.spec.TCPSocket != nil:
		port, err := portOf(p.spec.TCPSocket.Port, p.c)
		if err != nil {
			return false, err.Error()
		}
		if p.spec.TCPSocket.Host != "" {
			ip = p.spec.TCPSocket.Host
		}
		a := p.w.kl.rt.Connect(ip, port, "")
		return a.Accepted, refused(a, fmt.Sprintf("dial tcp %s:%d: connect: connection refused", ip, port))
	case p.spec.GRPC != nil:
		a := p.w.kl.rt.Connect(ip, int(p.spec.GRPC.Port), "")
		return a.Accepted, refused(a, fmt.Sprintf("timeout: failed to connect service %q within %s: context deadline exceeded", fmt.Sprintf("%s:%d", ip, p.spec.GRPC.Port), limit))
	}
	return false, "missing probe handler"
}

func refused(a runtime.Answer, text string) string {
	if a.Accepted {
		return ""
	}
	return text
}

func (p *prober) httpGet(t *sim.Task, ip string, limit time.Duration) (bool, string) {
	h := p.spec.HTTPGet
	port, err := portOf(h.Port, p.c)
	if err != nil {
		return false, err.Error()
	}
	if h.Host != "" {
		ip = h.Host
	}
	path := h.Path
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	url := fmt.Sprintf("%s://%s:%d%s", strings.ToLower(string(h.Scheme)), ip, port, path)
	if h.Scheme == "" {
		url = fmt.Sprintf("http://%s:%d%s", ip, port, path)
	}
	a := p.w.kl.rt.Connect(ip, port, path)
	switch {
	case !a.Accepted:
		return false, fmt.Sprintf("Get %q: dial tcp %s:%d: connect: connection refused", url, ip, port)
	case a.Hung:
		t.Sleep(limit)
		return false, fmt.Sprintf("Get %q: context deadline exceeded (Client.Timeout exceeded while awaiting headers)", url)
	case a.Code < 200 || a.Code >= 400:
		return false, fmt.Sprintf("HTTP probe failed with statuscode: %d", a.Code)
	}
	return true, ""
}

// portOf resolves a port by number or by the container's name for it.
func portOf(p intstr.IntOrString, c *corev1.Container) (int, error) {
	if p.Type == intstr.Int {
		return p.IntValue(), nil
	}
	for _, cp := range c.Ports {
		if cp.Name == p.StrVal {
			return int(cp.ContainerPort), nil
		}
	}
	return 0, fmt.Errorf("invalid port number: couldn't find port: %q in container %q", p.StrVal, c.Name)
}
