package cluster

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/fault"
	"kviz/cluster/kubelet"
	"kviz/cluster/network"
	"kviz/cluster/proxy"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// node is a machine: its link to the control plane, its runtime, and the
// processes on it.
type node struct {
	name    string
	link    *fault.Link
	runtime *runtime.Runtime
	net     *network.Node
	kubelet *component
	proxy   *component // nil on light nodes

	agent *kubelet.Kubelet                    // of the newest kubelet process
	join  *joining                            // while the kubelet has no client certificate; else nil
	short map[corev1.NodeConditionType]string // what the machine is short of
}

// addNode powers on node number i, from 1. Its kubelet has its client certificate
// already, but where there is a bootstrap token to ask for one.
func (c *Cluster) addNode(t *sim.Task, i int, token string) *node {
	n := &node{name: fmt.Sprintf("node-%d", i), short: map[corev1.NodeConditionType]string{}}
	address := fmt.Sprintf("192.168.%d.%d", (i+10)/250, (i+10)%250)
	podCIDR := nodeCIDR(c.clusterCIDR(), i).String()
	n.link = fault.NewLink(n.name)
	n.runtime = runtime.New(c.k, c.registry, runtime.Config{Node: n.name, PodCIDR: podCIDR})
	n.runtime.SetDialer(c.network)
	n.runtime.SetAPI(func(namespace, account, pod string) client.Interface {
		return n.link.Wrap(c.client(trace.Lane{Component: trace.CompPod, Instance: pod}, authn.ServiceAccount(namespace, account)))
	})
	c.addPrograms(n.runtime)
	n.net = c.network.AddNode(n.name, address, podCIDR, n.runtime)

	lane := trace.Lane{Component: trace.CompKubelet, Instance: n.name}
	if token != "" {
		n.join = c.newJoining(n, lane, token)
	}
	n.kubelet = c.addComponent("kubelet/"+n.name, lane, func(p *sim.Process) {
		if n.join != nil {
			p.Go("bootstrap", func(t *sim.Task) { c.bootstrapNode(t, n) })
			return
		}
		n.agent = kubelet.Start(p, n.link.Wrap(c.client(lane, authn.Node(n.name))), n.runtime,
			kubelet.Config{Node: n.name, Address: address, PodCIDR: podCIDR})
		for _, s := range shortages {
			if message := n.short[s.condition]; message != "" {
				n.agent.SetPressure(s.condition, message, trace.ID{})
			}
		}
	})
	n.kubelet.begin(c.k, t.Causes(), "")

	if !c.cfg.Light {
		plane := trace.Lane{Component: trace.CompProxy, Instance: n.name}
		n.proxy = c.addComponent("proxy/"+n.name, plane, func(p *sim.Process) {
			proxy.Start(p, n.link.Wrap(c.client(plane, authn.Component("kube-proxy"))), proxy.Config{Node: n.net, ClusterCIDR: c.clusterCIDR().String(), Shared: c.rules})
		})
		if n.join == nil {
			n.proxy.begin(c.k, t.Causes(), "")
		}
	}
	c.nodes = append(c.nodes, n)
	return n
}

func (c *Cluster) node(name string) *node {
	for _, n := range c.nodes {
		if n.name == name {
			return n
		}
	}
	return nil
}
