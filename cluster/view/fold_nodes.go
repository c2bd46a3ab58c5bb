package view

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

const (
	maxSteps = 128
	maxDiff  = 512
	maxFlows = 64
	maxHops  = 256
)

func init() {
	on(trace.NodeStatus, nodeStatus)
	on(trace.PodWorker, podWorker)
	on(trace.PodAdmit, podAdmit)
	on(trace.VolumesMounted, podStep)
	on(trace.RestartBackoff, backoff)
	on(trace.CRICall, runtimeCall)
	on(trace.CNICall, runtimeCall)
	on(trace.ContainerChange, containerChange)
	on(trace.ProbeResult, probeResult)
	on(trace.ProxySync, proxySync)
	on(trace.RuleChange, ruleChange)
	on(trace.PacketHop, packetHop)
	on(trace.PacketEnd, packetEnd)
}

func (b *Builder) node(name string) *Node {
	n := edit(b, b.s.nodes, name)
	if n.Name == "" {
		n.Name, n.pods, n.chains = name, newTable[string, *NodePod](), newTable[string, *Chain]()
	}
	return n
}

func nodeStatus(b *Builder, e *trace.Event, p *trace.NodeReport) {
	n := b.node(p.Node)
	judged := p.By == trace.CompKubelet || p.Ready != "" && p.Ready != n.Ready
	if p.Ready != "" {
		n.Ready = p.Ready
	}
	if p.Conditions != nil {
		n.Conditions = p.Conditions
	}
	if len(p.Taints) > 0 { // that the last is gone, the object says
		n.Taints = p.Taints
	}
	if judged { // who taints a node says nothing of its readiness
		n.ReadyBy, n.Note, n.Reported, n.ReportedAt = p.By, p.Note, e.ID, e.At
	}
}

// nodeWritten takes a node's taints from its object, which has the last word.
func (b *Builder) nodeWritten(node *corev1.Node) {
	var taints []string
	for i := range node.Spec.Taints {
		taints = append(taints, node.Spec.Taints[i].ToString())
	}
	if old := b.s.Node(node.Name); old != nil && slices.Equal(old.Taints, taints) {
		return
	}
	b.node(node.Name).Taints = taints
}

// nodePod is a pod on a node, ready to be changed.
func (b *Builder) nodePod(e *trace.Event, node, pod string) *NodePod {
	n := b.node(node)
	p := edit(b, n.pods, pod)
	p.Pod, p.Node, p.Event, p.At = pod, node, e.ID, e.At
	return p
}

func (p *NodePod) step(e *trace.Event, s Step) {
	s.Kind, s.Event, s.At = e.Kind, e.ID, e.At
	p.steps = recent(p.steps, s, maxSteps)
}

func podWorker(b *Builder, e *trace.Event, p *trace.PodSync) {
	if p.Work == "finished" { // the object is gone, and the worker with it
		n := b.node(p.Node)
		n.pods.delete(p.Pod)
		return
	}
	x := b.nodePod(e, p.Node, p.Pod)
	x.Work, x.Reason, x.Note = p.Work, p.Reason, p.Note
}

func podAdmit(b *Builder, e *trace.Event, p *trace.PodSync) {
	x := b.nodePod(e, p.Node, p.Pod)
	x.Admitted, x.Reason, x.Note = p.Work, p.Reason, p.Note
	x.step(e, Step{What: p.Work, Detail: p.Reason})
}

func podStep(b *Builder, e *trace.Event, p *trace.PodStep) {
	b.nodePod(e, p.Node, p.Pod).step(e, Step{Container: p.Container, What: p.What, Detail: p.Detail, Took: p.For})
}

// backoff also is a container's state: what kubectl shows as CrashLoopBackOff
// or ImagePullBackOff.
func backoff(b *Builder, e *trace.Event, p *trace.PodStep) {
	podStep(b, e, p)
	if p.Container == "" {
		return
	}
	c := &trace.ContainerState{Node: p.Node, Pod: p.Pod, Container: p.Container}
	x := b.nodePod(e, p.Node, p.Pod)
	if old := x.Container(p.Container); old != nil {
		*c = *old.ContainerState
	}
	c.State, c.Reason = "waiting", p.What
	x.setContainer(Container{c, e.ID, e.At})
}

func (p *NodePod) setContainer(c Container) {
	if old := p.Container(c.Container); old != nil {
		*old = c
		return
	}
	p.containers = append(p.containers, c)
}

func runtimeCall(b *Builder, e *trace.Event, p *trace.RuntimeCall) {
	if p.Call == "RemovePodSandbox" || p.Call == "DEL" || p.Call == "StopPodSandbox" || p.Call == "RemoveContainer" {
		// Cleaning up may go on after the pod worker has ended.
		if n := b.s.Node(p.Node); n == nil || n.Pod(p.Pod) == nil {
			return
		}
	}
	x := b.nodePod(e, p.Node, p.Pod)
	if e.Kind == trace.CNICall && p.Call == "ADD" && p.Error == "" {
		x.Address = p.Result
	}
	if p.Call == "CreateContainer" && p.Error == "" {
		x.assume(p.Container, p.Assumed)
	}
	detail := p.Arg
	if p.Result != "" {
		if detail != "" {
			detail += " → "
		}
		detail += p.Result
	}
	x.step(e, Step{Container: p.Container, What: p.Call, Detail: detail, Error: p.Error, Took: p.Took})
}

func containerChange(b *Builder, e *trace.Event, p *trace.ContainerState) {
	x := b.nodePod(e, p.Node, p.Pod)
	x.step(e, Step{Container: p.Container, What: p.State, Detail: p.Reason})
	x.setContainer(Container{p, e.ID, e.At})
	if p.State == "terminated" {
		b.schedulerEnded(e, p.Pod)
	}
}

func probeResult(b *Builder, e *trace.Event, p *trace.Probe) {
	x := b.nodePod(e, p.Node, p.Pod)
	result := "failed"
	if p.OK {
		result = "succeeded"
	}
	x.step(e, Step{Container: p.Container, What: p.Probe + " probe " + result, Detail: p.Output})
	for i := range x.probes {
		if x.probes[i].Container == p.Container && x.probes[i].Probe.Probe == p.Probe {
			x.probes[i] = ProbeState{p, e.ID, e.At}
			return
		}
	}
	x.probes = append(x.probes, ProbeState{p, e.ID, e.At})
}

func proxySync(b *Builder, e *trace.Event, p *trace.ProxySyncInfo) {
	n := b.node(p.Node)
	n.Sync, n.Synced = p, e.ID
	n.Syncs++
	n.fresh = true
}

func ruleChange(b *Builder, e *trace.Event, p *trace.Rule) {
	n := b.node(p.Node)
	if n.fresh || n.diffCause != cause(e) {
		n.diff, n.fresh, n.diffCause = nil, false, cause(e)
	}
	n.diff = recent(n.diff, RuleChange{p, e.ID, e.At}, maxDiff)
	key := p.Table + "\x00" + p.Chain
	c := edit(b, n.chains, key)
	c.Table, c.Name = p.Table, p.Chain
	if p.Removed {
		if i := c.find(p); i >= 0 {
			c.rules = slices.Delete(c.rules, i, i+1)
			n.RuleCount--
		}
		if len(c.rules) == 0 {
			n.chains.delete(key)
		}
		return
	}
	at := min(max(p.Pos-1, 0), len(c.rules))
	c.rules = slices.Insert(c.rules, at, Rule{Text: p.Text, Service: p.Service, Event: e.ID, At: e.At})
	n.RuleCount++
}

// cause is the first cause of an event: rules of one sync have the same.
func cause(e *trace.Event) trace.ID {
	if len(e.Causes) == 0 {
		return trace.ID{}
	}
	return e.Causes[0]
}

// find is where a removed rule stands: at its position if that fits, else
// wherever its text is.
func (c *Chain) find(p *trace.Rule) int {
	if at := p.Pos - 1; at >= 0 && at < len(c.rules) && c.rules[at].Text == p.Text {
		return at
	}
	return slices.IndexFunc(c.rules, func(r Rule) bool { return r.Text == p.Text })
}

func packetHop(b *Builder, e *trace.Event, p *trace.Hop) {
	f := b.flow(e, p.Flow)
	if len(f.hops) < maxHops {
		f.hops = append(f.hops, FlowHop{p, e.ID})
	}
}

func packetEnd(b *Builder, e *trace.Event, p *trace.Flow) {
	f := b.flow(e, p.Flow)
	f.End, f.Ended = p, e.ID
}

func (b *Builder) flow(e *trace.Event, number uint64) *Flow {
	f := edit(b, b.s.flows, number)
	if f.Number == 0 {
		f.Number, f.Start, f.At = number, e.ID, e.At
		b.s.flows.trim(maxFlows)
	}
	return f
}
