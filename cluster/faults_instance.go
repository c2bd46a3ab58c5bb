package cluster

import (
	"fmt"
	"strings"

	"kviz/cluster/cloud"
	"kviz/cluster/trace"
)

// instances are the targets instance/node-1, instance/node-2 …: the machines as the cloud has them,
// where kubelets have --cloud-provider=external.
type instances struct{ nodes *nodes }

func (is instances) names() (names []string) {
	if is.nodes.cloud == nil {
		return nil
	}
	for _, n := range is.nodes.list {
		names = append(names, "instance/"+n.name)
	}
	return names
}

func (is instances) find(name string) (any, error) {
	if is.nodes.cloud == nil {
		return nil, fmt.Errorf("the machines of this cluster are no instances of a cloud; they are with --cloud-provider external")
	}
	if n := is.nodes.find(strings.TrimPrefix(name, "instance/")); n != nil {
		return instanceTarget{nodeTarget{is.nodes, n}, is.nodes.cloud}, nil
	}
	return nil, nil
}

// instance is that of a machine; nil if the cloud has none.
func (ns *nodes) instance(n *node) *cloud.Instance {
	if ns.cloud == nil {
		return nil
	}
	return ns.cloud.Instance(n.name)
}

// off is an error where nothing can be done to a machine or to what is on it, since the cloud has
// shut it down or deleted it.
func (ns *nodes) off(n *node) error {
	switch in := ns.instance(n); {
	case ns.cloud == nil:
		return nil
	case in == nil:
		return fmt.Errorf("there is no machine %s any more: its instance was deleted (kviz fault recreate instance/%[1]s makes a new one)", n.name)
	case in.Off:
		return fmt.Errorf("the machine %s is off: its instance is shut down (kviz fault start instance/%[1]s starts it)", n.name)
	}
	return nil
}

// instanceTarget is a machine as its cloud has it.
type instanceTarget struct {
	machine nodeTarget
	cloud   *cloud.Cloud
}

// Exists is an error where there is no instance any more.
func (t instanceTarget) Exists() error {
	if t.cloud.Instance(t.machine.n.name) != nil {
		return nil
	}
	return t.machine.nodes.off(t.machine.n)
}

// ShutDown has the cloud shut it down.
func (t instanceTarget) ShutDown(why []trace.ID) error {
	t.cloud.Instance(t.machine.n.name).Off = true
	return t.machine.down(why, "its instance was shut down")
}

// Start has the cloud start it.
func (t instanceTarget) Start(why []trace.ID) error {
	t.cloud.Instance(t.machine.n.name).Off = false
	return t.machine.Start(why)
}

// Delete has the cloud delete it.
func (t instanceTarget) Delete(why []trace.ID) error {
	t.cloud.DeleteInstance(t.machine.n.name)
	return t.machine.down(why, "its instance was deleted")
}

// Recreate has the cloud make a new one: the machine has an empty disk, and its node's addresses for
// pods are those that its Node says.
func (t instanceTarget) Recreate(why []trace.ID) error {
	n := t.machine.n
	_ = t.machine.down(why, "its instance was deleted") // it never fails
	t.machine.nodes.makeInstance(n)
	n.runtime.Wipe()
	n.setPodCIDR("")
	return t.machine.Start(why)
}
