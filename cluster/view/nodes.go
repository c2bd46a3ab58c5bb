package view

import (
	"slices"
	"strings"
	"time"

	"kviz/cluster/trace"
)

// Node is what happens on one node.
type Node struct {
	gen
	Name       string
	Ready      string // True, False, Unknown; "" before the first report
	ReadyBy    string // who said so last: kubelet, node-lifecycle-controller
	Conditions map[string]string
	Taints     []string
	Note       string
	Reported   trace.ID
	ReportedAt time.Duration

	Sync      *trace.ProxySyncInfo // the last sync of its rules
	Synced    trace.ID
	Syncs     uint64
	RuleCount int

	pods      table[string, *NodePod]
	chains    table[string, *Chain]
	diff      []RuleChange
	fresh     bool // a sync has ended: the next rule begins a new diff
	diffCause trace.ID
}

func (n *Node) seal() {
	n.pods = n.pods.copy()
	n.chains = n.chains.copy()
	clip(&n.diff)
}

// NodePod is a pod as its node's kubelet sees it.
type NodePod struct {
	gen
	Pod      string // namespace/name
	Node     string
	Work     string // sync, terminating, terminated
	Admitted string // admitted, refused; "" before the decision
	Reason   string
	Note     string
	Address  string // as the network plugin gave it
	Event    trace.ID
	At       time.Duration

	steps      []Step
	containers []Container
	probes     []ProbeState
	assumed    []assumption
}

// assumption is what the runtime assumes of a container.
type assumption struct{ container, what string }

func (p *NodePod) seal() {
	clip(&p.steps)
	p.containers = append([]Container(nil), p.containers...)
	p.probes = append([]ProbeState(nil), p.probes...)
	p.assumed = slices.Clone(p.assumed)
}

// Step is one thing the kubelet did for a pod: a CRI or CNI call, volumes, a
// back-off, a container's change of state, a probe's result.
type Step struct {
	Kind      trace.Kind
	Container string
	What      string // the call or the step: "RunPodSandbox", "volumes mounted"
	Detail    string
	Error     string
	Took      time.Duration
	Event     trace.ID
	At        time.Duration
}

// Container is one container of a pod.
type Container struct {
	*trace.ContainerState
	Event trace.ID
	Since time.Duration
}

// ProbeState is a probe's last changed result.
type ProbeState struct {
	*trace.Probe
	Event trace.ID
	At    time.Duration
}

// Steps lists what the kubelet did for the pod (the last 128 at most), oldest
// first.
func (p *NodePod) Steps() []Step { return last(p.steps, 128) }

// Containers lists the pod's containers in the order they first changed.
func (p *NodePod) Containers() []Container { return p.containers[:len(p.containers):len(p.containers)] }

// Container is one container, or nil.
func (p *NodePod) Container(name string) *Container {
	for i := range p.containers {
		if p.containers[i].Container == name {
			return &p.containers[i]
		}
	}
	return nil
}

// Assumed is what is assumed of a container whose image is not known, or whose program is
// not simulated, such as "to run until stopped (unknown image)"; "" where
// nothing is.
func (p *NodePod) Assumed(container string) string {
	for _, a := range p.assumed {
		if a.container == container {
			return a.what
		}
	}
	return ""
}

func (p *NodePod) assume(container, what string) {
	for i := range p.assumed {
		if p.assumed[i].container == container {
			p.assumed[i].what = what
			return
		}
	}
	if what != "" {
		p.assumed = append(p.assumed, assumption{container, what})
	}
}

// Probes lists the pod's probes in the order they first gave a result.
func (p *NodePod) Probes() []ProbeState { return p.probes[:len(p.probes):len(p.probes)] }

// Chain is one chain of rules.
type Chain struct {
	gen
	Table string
	Name  string
	rules []Rule
}

func (c *Chain) seal() { c.rules = append(make([]Rule, 0, len(c.rules)+4), c.rules...) }

// Rules lists the chain's rules in the order a packet meets them.
func (c *Chain) Rules() []Rule { return c.rules[:len(c.rules):len(c.rules)] }

// Rule is one rule, and the event that wrote it.
type Rule struct {
	Text    string // as iptables-save prints it
	Service string // namespace/name:port
	Event   trace.ID
	At      time.Duration
}

// RuleChange is one rule added or removed.
type RuleChange struct {
	*trace.Rule
	Event trace.ID
	At    time.Duration
}

// Flow is a connection attempt and the way of its packet.
type Flow struct {
	gen
	Number uint64
	Start  trace.ID
	At     time.Duration
	End    *trace.Flow // how it ended; nil while it is under way
	Ended  trace.ID
	hops   []FlowHop
}

func (f *Flow) seal() { clip(&f.hops) }

// FlowHop is one thing the packet met.
type FlowHop struct {
	*trace.Hop
	Event trace.ID
}

// Hops lists what the packet met, in order.
func (f *Flow) Hops() []FlowHop { return f.hops[:len(f.hops):len(f.hops)] }

// Nodes lists the nodes by name.
func (s *State) Nodes() []*Node { return s.nodes.values() }

// Node is a node by name, or nil.
func (s *State) Node(name string) *Node { n, _ := s.nodes.get(name); return n }

// Pods lists the pods the node's kubelet works on, by name.
func (n *Node) Pods() []*NodePod { return n.pods.values() }

// Pod is a pod ("namespace/name") on the node, or nil.
func (n *Node) Pod(pod string) *NodePod { p, _ := n.pods.get(pod); return p }

// NodePod is a pod ("namespace/name") wherever it runs, or nil.
func (s *State) NodePod(pod string) *NodePod {
	var found *NodePod
	s.nodes.all(func(_ string, n *Node) bool {
		found, _ = n.pods.get(pod)
		return found == nil
	})
	return found
}

// Tables lists the names of the tables the node has chains in.
func (n *Node) Tables() []string {
	var names []string
	n.chains.all(func(_ string, c *Chain) bool {
		if len(names) == 0 || names[len(names)-1] != c.Table {
			names = append(names, c.Table)
		}
		return true
	})
	return names
}

// Chains lists the chains of a table, by name.
func (n *Node) Chains(table string) []*Chain {
	var out []*Chain
	n.chains.from(table+"\x00", func(_ string, c *Chain) bool {
		if c.Table != table {
			return false
		}
		out = append(out, c)
		return true
	})
	return out
}

// Chain is one chain, or nil.
func (n *Node) Chain(table, chain string) *Chain {
	c, _ := n.chains.get(table + "\x00" + chain)
	return c
}

// LastDiff lists the rules added and removed since the sync before the last
// one ended, oldest first (at most 512).
func (n *Node) LastDiff() []RuleChange { return last(n.diff, 512) }

// FindRule is the rule with this text, spaces at the ends apart, and whether
// there is one.
func (n *Node) FindRule(text string) (Rule, bool) {
	text = strings.TrimSpace(text)
	var found Rule
	var ok bool
	n.chains.all(func(_ string, c *Chain) bool {
		for _, r := range c.rules {
			if strings.TrimSpace(r.Text) == text {
				found, ok = r, true
				break
			}
		}
		return !ok
	})
	return found, ok
}

// Flows lists the last connection attempts (at most 64), oldest first.
func (s *State) Flows() []*Flow { return s.flows.values() }

// Flow is a connection attempt by number, or nil.
func (s *State) Flow(number uint64) *Flow { f, _ := s.flows.get(number); return f }
