package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/cluster/console"
	"kviz/cluster/control"
	"kviz/cluster/fault"
	"kviz/cluster/trace"
)

// Faults is the catalogue of faults.
func (c *Cluster) Faults() []control.FaultKind { return fault.Catalogue() }

// Targets lists what can be broken now.
func (c *Cluster) Targets() []string {
	var names []string
	c.k.Do(func() { names = c.targets() }) // a stopped cluster has no targets
	return names
}

func (c *Cluster) targets() []string {
	var names []string
	if c.raft != nil {
		for _, m := range c.raft.Members() {
			names = append(names, "member/"+m.ID)
		}
	}
	names = append(names, "store")
	for _, n := range c.nodes {
		names = append(names, "node/"+n.name, "runtime/"+n.name)
	}
	for _, m := range c.components {
		names = append(names, m.target)
	}
	names = append(append(names, "registry"), c.auditDisks()...)
	names = append(names, c.credentials()...)
	for _, name := range c.etcd.Lines() {
		names = append(names, "watch/"+name)
	}
	if c.server != nil {
		for _, name := range c.server.Wires() {
			names = append(names, "informer/"+name)
		}
	}
	for _, name := range c.delays.queues() {
		names = append(names, "queue/"+name)
	}
	for _, n := range c.nodes {
		for _, pod := range podsOn(n) {
			names = append(names, "pod/"+pod)
		}
	}
	slices.Sort(names)
	return names
}

// Fault breaks or mends something. It returns when it is done.
func (c *Cluster) Fault(f control.Fault) error {
	kind, ok := fault.Lookup(f.Name)
	if !ok {
		return fmt.Errorf("unknown fault %q: one of %s", f.Name, strings.Join(faultNames(), ", "))
	}
	if most := words[f.Name]; most >= 0 && len(f.Args) > most {
		return fmt.Errorf("%s takes no %q: usage: %s", f.Name, strings.Join(f.Args[most:], " "), strings.TrimSpace(f.Name+" "+f.Target+" "+kind.Args))
	}
	if tk := fault.TargetKind(f.Target); !slices.Contains(kind.Targets, tk) {
		return fmt.Errorf("%s does not apply to %q; it applies to %s", f.Name, f.Target, strings.Join(kind.Targets, ", "))
	}
	if aside(f) {
		return plain(c.injectAside(f))
	}
	var err error
	if doErr := c.k.Do(func() { err = c.inject(f) }); doErr != nil {
		return doErr
	}
	return plain(err)
}

// plain leaves etcd's own words of an error that came by gRPC's rules.
func plain(err error) error {
	if desc := rpctypes.ErrorDesc(err); err != nil && desc != err.Error() {
		return errors.New(desc)
	}
	return err
}

func faultNames() []string {
	var names []string
	for _, k := range fault.Catalogue() {
		names = append(names, k.Name)
	}
	return names
}

// words is how many words may follow a fault's target, where any may; -1 is any
// number.
var words = map[string]int{
	"crash": 1, "slow": 1, "pressure": 1, "delay": 2, "drop": 2, "duplicate": 2, "reorder": 2,
	"cut": -1, "mute": -1, "deafen": -1, "partition": -1, "corrupt": 1, "slow-elections": 1, "compact": 1, "quota": 1, "lie": 1,
}

// mends are the faults that make something whole again, or leave it whole.
var mends = []string{
	"start", "restart", "renew", "rotate", "heal", "fast", "free", "lead", "mend-cni", "relieve",
	"rejoin", "recover", "add-learner", "add-voter", "promote", "fast-elections", "snapshot", "defrag", "compact", "disarm", "reinstall",
}

// inject runs on the kernel's goroutine.
func (c *Cluster) inject(f control.Fault) error {
	what, name, _ := strings.Cut(f.Target, "/")
	kind := kindOf(f)
	do, err := c.prepare(what, name, f)
	if err != nil {
		return err
	}
	note := func() []trace.ID { return []trace.ID{c.note(f, kind)} }
	if what != "member" && what != "store" {
		return do(note())
	}
	// Only the store itself knows whether a member can do it. What its members
	// say of it enters the trace later, in their own lane.
	if err := do(nil); err != nil {
		return err
	}
	note()
	return nil
}

// kindOf says whether a fault breaks or mends.
func kindOf(f control.Fault) trace.Kind {
	if slices.Contains(mends, f.Name) {
		return trace.FaultHealed
	}
	return trace.FaultInjected
}

// note tells of a fault in the trace; on the kernel's goroutine.
func (c *Cluster) note(f control.Fault, kind trace.Kind) trace.ID {
	return c.k.Emit(trace.Event{
		Lane: trace.Lane{Component: trace.CompSimulation}, Kind: kind, Causes: causesOf(f),
		Payload: &trace.Fault{Fault: f.Name, Target: f.Target, Detail: strings.Join(f.Args, " ")},
	})
}

// causesOf is what a fault comes from, if it was not a person's key.
func causesOf(f control.Fault) []trace.ID {
	if f.Cause.IsZero() {
		return nil
	}
	return []trace.ID{f.Cause}
}

// action does a fault whose event is already in the trace.
type action func(causes []trace.ID) error

// prepare finds the target and checks the arguments, so that a refused fault
// leaves no event.
func (c *Cluster) prepare(what, name string, f control.Fault) (action, error) {
	switch what {
	case "member":
		return c.memberFault(name, f)
	case "store":
		return c.storeFault(f)
	case "node":
		return c.nodeFault(name, f)
	case "registry":
		return c.registryFault(f)
	case "audit":
		return c.auditFault(f)
	case "certificate", "token":
		return c.credentialFault(f)
	case "watch":
		return c.watchFault(name, f)
	case "informer":
		return c.informerFault(name, f)
	case "apiserver":
		if f.Name == "slow" || f.Name == "fast" {
			return c.serverFault(f)
		}
	case "pod":
		return c.podFault(name, f)
	case "webhook":
		return c.webhookFault(name, f)
	case "oidc":
		return c.providerFault(f)
	case "queue":
		return c.queueFault(name, f)
	case "runtime":
		return c.runtimeFault(name, f)
	}
	m := c.component(f.Target)
	if m == nil {
		return nil, c.noTarget(f.Target)
	}
	return func(causes []trace.ID) error {
		switch f.Name {
		case "stop":
			m.stop(c.k, causes, "fault: stop")
		case "crash":
			m.end(c.k, causes, "fault: crash")
		case "restart":
			m.stop(c.k, causes, "fault: restart")
			m.begin(c.k, causes, "fault: restart")
		case "start":
			m.begin(c.k, causes, "started again")
		case "rotate":
			c.kms.Rotate()
		}
		return nil
	}, nil
}

// noTarget names what is there of the same kind, and what was likely meant.
func (c *Cluster) noTarget(target string) error {
	var same []string
	for _, t := range c.targets() {
		if fault.TargetKind(t) == fault.TargetKind(target) {
			same = append(same, t)
		}
	}
	if near := console.Nearest(target, same); near != "" {
		return fmt.Errorf("there is no %q; did you mean %q?", target, near)
	}
	return fmt.Errorf("there is no %q: one of %s", target, strings.Join(same, ", "))
}

// noPeer refuses an argument that should name another member.
func (c *Cluster) noPeer(f control.Fault, peer string) error {
	var ids []string
	for _, m := range c.raft.Members() {
		if "member/"+m.ID != f.Target {
			ids = append(ids, m.ID)
		}
	}
	text := fmt.Sprintf("%q is no member that %s has a link to (%s)", peer, f.Target, strings.Join(ids, ", "))
	if near := console.Nearest(peer, ids); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Errorf("%s; usage: %s", text, usageOf(f, ids[0]))
}

// usageOf is how a fault is used, with an example of its arguments.
func usageOf(f control.Fault, peer string) string {
	kind, _ := fault.Lookup(f.Name)
	example := map[string]string{"delay": " 30ms", "drop": " 0.3", "duplicate": " 0.3", "reorder": " 0.3"}[f.Name]
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", f.Name, f.Target, kind.Args)) + fmt.Sprintf(", such as: %s %s %s%s", f.Name, f.Target, peer, example)
}

func bothWays[T any](set func(from, to string, v T) error, a, b string, v T) error {
	if err := set(a, b, v); err != nil {
		return err
	}
	return set(b, a, v)
}

func duration(args []string, i int, want string) (time.Duration, error) {
	if len(args) <= i {
		return 0, fmt.Errorf("%s", want)
	}
	d, err := time.ParseDuration(args[i])
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no duration: %s", args[i], want)
	}
	return d, nil
}

func fraction(args []string, i int, want string) (float64, error) {
	if len(args) <= i {
		return 0, fmt.Errorf("%s", want)
	}
	p, err := strconv.ParseFloat(args[i], 64)
	if err != nil || p < 0 || p > 1 {
		return 0, fmt.Errorf("%q is no fraction between 0 and 1: %s", args[i], want)
	}
	return p, nil
}

func (c *Cluster) nodeFault(name string, f control.Fault) (action, error) {
	n := c.node(name)
	if n == nil {
		return nil, c.noTarget(f.Target)
	}
	down := func(causes []trace.ID, reason string) {
		n.kubelet.end(c.k, causes, reason)
		if n.proxy != nil {
			n.proxy.end(c.k, causes, reason)
		}
		n.runtime.PowerOff()
	}
	up := func(causes []trace.ID) {
		n.runtime.PowerOn()
		n.kubelet.begin(c.k, causes, "the node was powered on")
		if n.proxy != nil {
			n.proxy.begin(c.k, causes, "the node was powered on")
		}
	}
	var slow time.Duration
	if f.Name == "slow" {
		d, err := duration(f.Args, 0, "slow wants how much longer each request takes, such as 500ms")
		if err != nil {
			return nil, err
		}
		slow = d
	}
	if f.Name == "pressure" {
		if len(f.Args) != 1 || !slices.ContainsFunc(shortages, func(s shortage) bool { return s.of == f.Args[0] }) {
			return nil, fmt.Errorf("pressure wants what the node is short of: memory, disk or pid")
		}
	}
	return func(causes []trace.ID) error {
		switch f.Name {
		case "break-cni", "mend-cni":
			n.runtime.SetNetworkReady(f.Name == "mend-cni")
		case "pressure":
			n.press(f.Args[0], causes)
		case "relieve":
			n.press("", causes)
		case "flush":
			n.net.Tables.Flush(causes...)
		case "stop", "crash":
			down(causes, "the node lost power")
		case "start":
			up(causes)
		case "restart":
			down(causes, "the node was restarted")
			up(causes)
		case "cut":
			n.link.Cut(causes[0])
			c.network.Cut(n.name)
			c.k.Silence(n.kubelet.lane, causes[0])
		case "heal":
			n.link.Heal()
			c.network.Heal(n.name)
			c.k.Silence(n.kubelet.lane, n.kubelet.exited)
		case "slow":
			n.link.Slow(slow)
		case "fast":
			n.link.Slow(0)
		}
		return nil
	}, nil
}

func (c *Cluster) registryFault(f control.Fault) (action, error) {
	factor := 1.0
	if f.Name == "slow" {
		if len(f.Args) == 0 {
			return nil, fmt.Errorf("slow wants a factor, such as 10")
		}
		x, err := strconv.ParseFloat(f.Args[0], 64)
		if err != nil || x < 1 {
			return nil, fmt.Errorf("%q is no factor of at least 1", f.Args[0])
		}
		factor = x
	}
	return func([]trace.ID) error {
		switch f.Name {
		case "stop":
			c.registry.SetReachable(false)
		case "start":
			c.registry.SetReachable(true)
		case "slow", "fast":
			c.registry.SetSlow(factor)
		}
		return nil
	}, nil
}

func (c *Cluster) runtimeFault(name string, f control.Fault) (action, error) {
	n := c.node(name)
	if n == nil {
		return nil, c.noTarget(f.Target)
	}
	return func([]trace.ID) error {
		if f.Name == "start" {
			n.runtime.Start()
		} else {
			n.runtime.Stop()
		}
		return nil
	}, nil
}

// podFault crashes a container of a pod (every one, unless one is named).
func (c *Cluster) podFault(key string, f control.Fault) (action, error) {
	namespace, name, _ := strings.Cut(key, "/")
	for _, n := range c.nodes {
		if !slices.Contains(podsOn(n), key) {
			continue
		}
		container := ""
		if len(f.Args) > 0 {
			container = f.Args[0]
			if _, ok := n.runtime.Find(namespace, name, container); !ok {
				return nil, fmt.Errorf("pod %s has no container %q that has started", key, container)
			}
		}
		if !n.runtime.Runs(namespace, name, container) {
			return nil, fmt.Errorf("no container of pod %s runs that could crash", key)
		}
		return func(causes []trace.ID) error {
			if !n.runtime.KillContainer(namespace, name, container, 137, "Error", causes...) {
				return fmt.Errorf("no container of pod %s runs that could crash", key)
			}
			return nil
		}, nil
	}
	return nil, fmt.Errorf("there is no pod %q on any node; pods are named pod/NAMESPACE/NAME", key)
}

// podsOn are the pods that a node's runtime knows, as "namespace/name".
func podsOn(n *node) []string {
	sandboxes, err := n.runtime.Pods()
	if err != nil {
		return nil // the runtime is down: nothing of it can be named
	}
	var keys []string
	for _, s := range sandboxes {
		keys = append(keys, s.Namespace+"/"+s.Name)
	}
	return slices.Compact(keys)
}
