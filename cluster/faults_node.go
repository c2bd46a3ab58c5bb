package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/trace"
)

// nodeTarget is a machine as faults see it.
type nodeTarget struct {
	c *Cluster
	n *node
}

func (t nodeTarget) down(why []trace.ID, reason string) error {
	t.n.kubelet.end(t.c.k, why, reason)
	if t.n.proxy != nil {
		t.n.proxy.end(t.c.k, why, reason)
	}
	t.n.runtime.PowerOff()
	return nil
}

func (t nodeTarget) Stop(why []trace.ID) error  { return t.down(why, "the node lost power") }
func (t nodeTarget) Crash(why []trace.ID) error { return t.down(why, "the node lost power") }

func (t nodeTarget) Start(why []trace.ID) error {
	t.n.runtime.PowerOn()
	t.n.kubelet.begin(t.c.k, why, "the node was powered on")
	if t.n.proxy != nil {
		t.n.proxy.begin(t.c.k, why, "the node was powered on")
	}
	return nil
}

func (t nodeTarget) Restart(why []trace.ID) error {
	_ = t.down(why, "the node was restarted") // it never fails
	return t.Start(why)
}

func (t nodeTarget) Cut(why []trace.ID) error {
	t.n.link.Cut(why[0])
	t.c.network.Cut(t.n.name)
	t.c.k.Silence(t.n.kubelet.lane, why[0])
	return nil
}

func (t nodeTarget) Heal([]trace.ID) error {
	t.n.link.Heal()
	t.c.network.Heal(t.n.name)
	t.c.k.Silence(t.n.kubelet.lane, t.n.kubelet.exited)
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
type registryTarget struct{ c *Cluster }

func (t registryTarget) Reachable(yes bool, _ []trace.ID) error {
	t.c.registry.SetReachable(yes)
	return nil
}

func (t registryTarget) Slower(factor float64, _ []trace.ID) error {
	t.c.registry.SetSlow(factor)
	return nil
}

// podTarget is a pod on the node where it is.
type podTarget struct {
	n   *node
	key string
}

func (c *Cluster) podTarget(key string) (any, error) {
	for _, n := range c.nodes {
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

func (t podTarget) Crash(container string, why []trace.ID) error {
	namespace, name, _ := strings.Cut(t.key, "/")
	if !t.n.runtime.KillContainer(namespace, name, container, 137, "Error", why...) {
		return fmt.Errorf("no container of pod %s runs that could crash", t.key)
	}
	return nil
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
