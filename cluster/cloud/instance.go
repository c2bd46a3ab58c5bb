package cloud

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/controller/cloudprovider"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Nodes, How: simulated.Simplified,
	What: "with --cloud-provider external each machine is an instance of a cloud of one region with three zones, all of one type and without an address on the internet; a new one has its kubelet's client certificate, so it needs no bootstrap token, and nothing but a person makes, deletes or shuts down instances",
	Seen: "kubectl get nodes -L topology.kubernetes.io/zone; kviz fault delete instance/node-1",
})

// What every instance is: of a type as large as the machines are, in one of the zones of the
// region, in turn.
const (
	Region = "kviz-1"
	Type   = "standard-4-8"
	zones  = 3
)

// Instance is a machine as the cloud has it.
type Instance struct {
	Name    string // of the machine, and so of the node
	Zone    string
	Address string // InternalIP
	Off     bool   // it is shut down
}

// ProviderID is how the cluster calls an instance: spec.providerID of its node. It has the
// instance's name, as Google's do, so one that is made again in its zone has the same.
func (in *Instance) ProviderID() string { return fmt.Sprintf("kviz://%s/%s", in.Zone, in.Name) }

// MakeInstance makes an instance, which runs; number says which machine it is, from 1.
func (c *Cloud) MakeInstance(name, address string, number int) {
	in := &Instance{Name: name, Address: address, Zone: Region + string(rune('a'+(number-1)%zones))}
	c.DeleteInstance(name)
	c.instances = append(c.instances, in)
}

// DeleteInstance takes an instance away, if it is there. The routes that lead to it lead
// nowhere then.
func (c *Cloud) DeleteInstance(name string) {
	c.instances = slices.DeleteFunc(slices.Clone(c.instances), func(in *Instance) bool { return in.Name == name })
	c.routes = slices.Clone(c.routes)
	for i := range c.routes {
		if c.routes[i].Node == name {
			c.routes[i].Node, c.routes[i].Blackhole = "", true
		}
	}
}

// Instances are those that there are.
func (c *Cloud) Instances() []*Instance { return c.instances }

// Instance is the one of a name; nil if there is none.
func (c *Cloud) Instance(name string) *Instance {
	i := slices.IndexFunc(c.instances, func(in *Instance) bool { return in.Name == name })
	if i < 0 {
		return nil
	}
	return c.instances[i]
}

// of is the instance of a node: that of its provider ID, or before it has one that of its name.
func (c *Cloud) of(node *corev1.Node) *Instance {
	i := slices.IndexFunc(c.instances, func(in *Instance) bool {
		if node.Spec.ProviderID != "" {
			return in.ProviderID() == node.Spec.ProviderID
		}
		return in.Name == node.Name
	})
	if i < 0 {
		return nil
	}
	return c.instances[i]
}

// Metadata is what the cloud knows of a node's instance (InstancesV2 InstanceMetadata).
func (c *Cloud) Metadata(t *sim.Task, node *corev1.Node) (m *cloudprovider.Metadata, err error) {
	err = c.ask(t, "InstanceMetadata", node, func(in *Instance) (string, error) {
		if in == nil {
			return "", cloudprovider.ErrNoInstance
		}
		m = &cloudprovider.Metadata{
			ProviderID: in.ProviderID(), Type: Type, Zone: in.Zone, Region: Region,
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: in.Address}, {Type: corev1.NodeHostName, Address: in.Name}},
		}
		return fmt.Sprintf("%s, %s in %s, at %s", m.ProviderID, m.Type, m.Zone, in.Address), nil
	})
	return m, err
}

// Exists reports whether a node's instance is there, running or not (InstanceExists).
func (c *Cloud) Exists(t *sim.Task, node *corev1.Node) (yes bool, err error) {
	err = c.ask(t, "InstanceExists", node, func(in *Instance) (string, error) {
		if yes = in != nil; yes {
			return in.ProviderID() + " exists", nil
		}
		return "there is no instance of it", nil
	})
	return yes, err
}

// Shutdown reports whether a node's instance is shut down (InstanceShutdown).
func (c *Cloud) Shutdown(t *sim.Task, node *corev1.Node) (yes bool, err error) {
	err = c.ask(t, "InstanceShutdown", node, func(in *Instance) (string, error) {
		switch {
		case in == nil:
			return "", cloudprovider.ErrNoInstance
		case in.Off:
			yes = true
			return in.ProviderID() + " is shut down", nil
		}
		return in.ProviderID() + " runs", nil
	})
	return yes, err
}

func (c *Cloud) ask(t *sim.Task, what string, node *corev1.Node, answer func(*Instance) (string, error)) error {
	return c.call(t, trace.CloudCall{Call: what, Node: node.Name}, refOf(node), soon(0), func() (string, error) { return answer(c.of(node)) })
}

func refOf(node *corev1.Node) trace.Ref {
	return trace.Ref{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: string(node.UID)}
}
