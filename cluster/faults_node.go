package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/registry"
	"kviz/cluster/trace"
)

// machines are the targets node/node-1, node/node-2 …
type machines struct{ nodes *nodes }

func (ms machines) names() (names []string) {
	for _, n := range ms.nodes.list {
		names = append(names, "node/"+n.name)
	}
	return names
}

func (ms machines) find(name string) (any, error) {
	if n := ms.nodes.find(strings.TrimPrefix(name, "node/")); n != nil {
		return nodeTarget{ms.nodes, n}, ms.nodes.off(n)
	}
	return nil, nil
}

// nodeTarget is a machine as faults see it.
type nodeTarget struct {
	nodes *nodes
	n     *node
}

func (t nodeTarget) down(why []trace.ID, reason string) error {
	t.n.kubelet.end(why, reason)
	if t.n.proxy != nil {
		t.n.proxy.end(why, reason)
	}
	t.n.runtime.PowerOff()
	t.nodes.storage.Node(t.n.name).PowerOff()
	return nil
}

func (t nodeTarget) Stop(why []trace.ID) error  { return t.down(why, "the node lost power") }
func (t nodeTarget) Crash(why []trace.ID) error { return t.down(why, "the node lost power") }

func (t nodeTarget) Start(why []trace.ID) error {
	t.n.runtime.PowerOn()
	t.n.kubelet.begin(why, "the node was powered on")
	if t.n.proxy != nil && t.n.join == nil { // else when it has become a node
		t.n.proxy.begin(why, "the node was powered on")
	}
	return nil
}

func (t nodeTarget) Restart(why []trace.ID) error {
	_ = t.down(why, "the node was restarted") // it never fails
	return t.Start(why)
}

func (t nodeTarget) Cut(why []trace.ID) error {
	t.n.link.Cut(why[0])
	t.nodes.network.Cut(t.n.name)
	t.nodes.k.Silence(t.n.kubelet.lane, why[0])
	return nil
}

func (t nodeTarget) Heal([]trace.ID) error {
	t.n.link.Heal()
	t.nodes.network.Heal(t.n.name)
	t.nodes.k.Silence(t.n.kubelet.lane, t.n.kubelet.exited)
	return nil
}

func (t nodeTarget) Slow(d time.Duration, _ []trace.ID) error {
	t.n.link.Slow(d)
	return nil
}

func (t nodeTarget) NetworkPlugin(there bool, _ []trace.ID) error {
	t.n.runtime.SetNetworkReady(there)
	return nil
}

func (t nodeTarget) Press(short string, why []trace.ID) error {
	t.n.press(short, why)
	return nil
}

func (t nodeTarget) Flush(why []trace.ID) error {
	t.n.net.Tables.Flush(why...)
	return nil
}

// runtimes are the targets runtime/node-1, runtime/node-2 …
type runtimes struct{ nodes *nodes }

func (rs runtimes) names() (names []string) {
	for _, n := range rs.nodes.list {
		names = append(names, "runtime/"+n.name)
	}
	return names
}

func (rs runtimes) find(name string) (any, error) {
	if n := rs.nodes.find(strings.TrimPrefix(name, "runtime/")); n != nil {
		return runtimeTarget{n}, rs.nodes.off(n)
	}
	return nil, nil
}

// runtimeTarget is a node's container runtime.
type runtimeTarget struct{ n *node }

func (t runtimeTarget) Run(yes bool, _ []trace.ID) error {
	if yes {
		t.n.runtime.Start()
	} else {
		t.n.runtime.Stop()
	}
	return nil
}

// registryTarget is the image registry.
type registryTarget struct{ r *registry.Registry }

func (t registryTarget) Reachable(yes bool, _ []trace.ID) error {
	t.r.SetReachable(yes)
	return nil
}

func (t registryTarget) Slower(factor float64, _ []trace.ID) error {
	t.r.SetSlow(factor)
	return nil
}

// podTarget is a pod on the node where it is.
type podTarget struct {
	n   *node
	key string
}

// pods are the targets pod/NAMESPACE/NAME, of every node.
type pods struct{ nodes *nodes }

func (ps pods) names() (names []string) {
	for _, n := range ps.nodes.list {
		for _, pod := range podsOn(n) {
			names = append(names, "pod/"+pod)
		}
	}
	return names
}

func (ps pods) find(name string) (any, error) {
	key := strings.TrimPrefix(name, "pod/")
	for _, n := range ps.nodes.list {
		if slices.Contains(podsOn(n), key) {
			return podTarget{n, key}, nil
		}
	}
	return nil, fmt.Errorf("there is no pod %q on any node; pods are named pod/NAMESPACE/NAME", key)
}

func (t podTarget) Runs(container string) error {
	namespace, name, _ := strings.Cut(t.key, "/")
	if container != "" {
		if _, ok := t.n.runtime.Find(namespace, name, container); !ok {
			return fmt.Errorf("pod %s has no container %q that has started", t.key, container)
		}
	}
	if !t.n.runtime.Runs(namespace, name, container) {
		return fmt.Errorf("no container of pod %s runs that could crash", t.key)
	}
	return nil
}

// exitKilled is the exit code of a process that SIGKILL ended.
const exitKilled = 128 + 9

func (t podTarget) Crash(container string, why []trace.ID) error {
	namespace, name, _ := strings.Cut(t.key, "/")
	if !t.n.runtime.KillContainer(namespace, name, container, exitKilled, "Error", why...) {
		return fmt.Errorf("no container of pod %s runs that could crash", t.key)
	}
	return nil
}
