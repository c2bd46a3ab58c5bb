package cluster

import (
	"slices"
	"time"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/controller"
	"kviz/cluster/controller/certificates"
	"kviz/cluster/controller/replicaset"
	"kviz/cluster/controller/storageprotection"
	"kviz/cluster/scheduler"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// component is a process that can be stopped and started again.
type component struct {
	target string // as faults name it: "scheduler", "kubelet/node-1"
	lane   trace.Lane
	start  func(*sim.Process)
	leave  func(*sim.Task) // what an orderly stop does last; may be nil
	p      *sim.Process    // nil while it is down
	exited trace.ID        // the event of its end while it is down
}

func (c *Cluster) addComponent(target string, lane trace.Lane, start func(*sim.Process)) *component {
	m := &component{target: target, lane: lane, start: start}
	c.components = append(c.components, m)
	return m
}

// component finds a component by its target name.
func (c *Cluster) component(target string) *component {
	i := slices.IndexFunc(c.components, func(m *component) bool { return m.target == target })
	if i < 0 {
		return nil
	}
	return c.components[i]
}

func (m *component) up() bool { return m.p != nil && m.p.Alive() }

// begin starts the process; it does nothing while it runs.
func (m *component) begin(k *sim.Kernel, causes []trace.ID, reason string) {
	if m.up() {
		return
	}
	m.p = k.NewProcess(m.lane)
	m.p.Begin(k.Emit(trace.Event{Lane: m.lane, Kind: trace.ProcessStart, Causes: causes, Payload: &trace.Process{Process: m.lane.String(), Reason: reason}}))
	m.exited = trace.ID{}
	k.Silence(m.lane, m.exited)
	m.start(m.p)
}

// end kills the process; it does nothing while it is down.
func (m *component) end(k *sim.Kernel, causes []trace.ID, reason string) {
	if !m.up() {
		return
	}
	m.p.Kill()
	m.exited = k.Emit(trace.Event{Lane: m.lane, Kind: trace.ProcessExit, Causes: causes, Payload: &trace.Process{Process: m.lane.String(), Reason: reason}})
	m.p.End(m.exited)
	k.Silence(m.lane, m.exited)
}

// stop is an orderly end: SIGTERM, where end is SIGKILL.
func (m *component) stop(k *sim.Kernel, causes []trace.ID, reason string) {
	if !m.up() {
		return
	}
	m.end(k, causes, reason)
	if m.leave != nil {
		k.NewProcess(m.lane).Go("leave", func(t *sim.Task) {
			t.SetCauses(causes...)
			m.leave(t)
		})
	}
}

// afterExit is how long a component that has ended itself stays down. It is a
// static pod of the control plane's machine, whose kubelet starts it again; the
// back-off of one that keeps ending is left out, since what has lost its Lease
// waits for the next one and does not end before it had it.
const afterExit = time.Second

// exit ends a component by its own wish, because of an event, and starts it again.
// What a person stops or crashes stays down instead: it is there to be looked at.
func (c *Cluster) exit(m *component, why trace.ID) {
	p := m.p
	c.k.NewProcess(trace.Lane{Component: trace.CompSimulation}).Go("restart "+m.target, func(t *sim.Task) {
		if m.p != p || !m.up() {
			return
		}
		m.end(c.k, []trace.ID{why}, "it lost its Lease")
		exited := m.exited
		t.Sleep(afterExit)
		if m.exited == exited {
			m.begin(c.k, []trace.ID{exited}, "its static pod is restarted")
		}
	})
}

// startControlPlane starts the API server, waits until it answers, and starts
// the controller manager and the scheduler.
func (c *Cluster) startControlPlane(t *sim.Task) {
	c.serverConfig.KMS, c.serverConfig.Webhooks, c.serverConfig.Provider = c.kms.Dial, c.webhooks, c.provider
	c.serverConfig.Components = c.componentHealth
	c.startServer("", t.Causes()).WaitReady(t)
	c.startPeers(t)

	kcm := trace.Lane{Component: trace.CompKCM}
	manager := c.addComponent("controller-manager", kcm, nil)
	manager.start = func(p *sim.Process) {
		controller.Start(p, c.client(kcm, authn.Component("kube-controller-manager")), controller.Config{
			RootCA: c.server.Authority().PEM(), Sign: c.server.Authority().Sign, Around: c.delays.around, Exit: func(lost trace.ID) { c.exit(manager, lost) },
			// Each controller has a ServiceAccount of its own, with the rights of its
			// bootstrap role (kube-controller-manager --use-service-account-credentials).
			ClientFor: func(name string) client.Interface {
				return c.client(trace.Lane{Component: name}, authn.ServiceAccount("kube-system", serviceAccount(name)))
			},
		})
	}
	manager.begin(c.k, t.Causes(), "")

	c.startDNS(t)

	sched := trace.Lane{Component: trace.CompScheduler}
	m := c.addComponent("scheduler", sched, nil)
	m.start = func(p *sim.Process) {
		m.leave = scheduler.Start(p, c.client(sched, authn.Component("kube-scheduler")), scheduler.Config{TraceNodes: c.traceNodes(), Exit: func(lost trace.ID) { c.exit(m, lost) }}).Leave
	}
	m.begin(c.k, t.Causes(), "")
}

// wholeMatrix is up to how many nodes the trace tells every verdict and score.
const wholeMatrix = 64

// traceNodes is for how many nodes a scheduling cycle tells its verdicts and
// scores; 0 is the scheduler's default, for clusters whose matrix fits a screen.
// In a larger one they would be a third of all events, and nobody reads the
// fortieth of a thousand like it.
func (c *Cluster) traceNodes() int {
	if c.cfg.Nodes > wholeMatrix {
		return 16
	}
	return 0
}

// serviceAccount is the ServiceAccount of a controller in kube-system; most have
// the controller's name (plugin/pkg/auth/authorizer/rbac/bootstrappolicy
// controller_policy.go; cmd/kube-controller-manager ClientOrDie).
func serviceAccount(controller string) string {
	switch controller {
	case "serviceaccount-controller":
		return "service-account-controller"
	case "root-ca-certificate-publisher-controller":
		return "root-ca-cert-publisher"
	case "garbage-collector-controller":
		return "generic-garbage-collector"
	case "pod-garbage-collector-controller":
		return "pod-garbage-collector"
	case replicaset.ReplicationName:
		return replicaset.ReplicationSource
	case certificates.Approving, certificates.Signing, certificates.Cleaner:
		return "certificate-controller"
	case storageprotection.ClaimsName:
		return "pvc-protection-controller"
	case storageprotection.VolumesName:
		return "pv-protection-controller"
	case "node-lifecycle-controller", "taint-eviction-controller":
		return "node-controller"
	}
	return controller
}
