package cluster

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/client/throttle"
	"kviz/cluster/cloud"
	"kviz/cluster/csi"
	"kviz/cluster/descheduler"
	"kviz/cluster/fault"
	"kviz/cluster/kubelet"
	"kviz/cluster/metricsadapter"
	"kviz/cluster/metricsserver"
	"kviz/cluster/mounttest"
	"kviz/cluster/mtls"
	"kviz/cluster/network"
	"kviz/cluster/operator"
	"kviz/cluster/podsigner"
	"kviz/cluster/proxy"
	"kviz/cluster/registry"
	"kviz/cluster/resourceconsumer"
	"kviz/cluster/runtime"
	"kviz/cluster/scheduler/program"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// nodes are the machines that pods run on, and what they share.
type nodes struct {
	k          *sim.Kernel
	components *components
	servers    *apiServers
	network    *network.Network
	registry   *registry.Registry // of images
	storage    *csi.Service       // with a node service on each
	rules      *proxy.Shared      // what every kube-proxy works out alike
	cidr       clusterCIDR
	light      bool           // without a kube-proxy
	scheduler  program.Config // of schedulers in pods
	loads      *loads         // what pods have to do
	cloud      *cloud.Cloud   // that the machines are instances of (--cloud-provider=external); else nil

	list []*node
}

func newNodes(k *sim.Kernel, components *components, servers *apiServers, network *network.Network, cidr clusterCIDR, light bool) *nodes {
	ns := &nodes{k: k, components: components, servers: servers, network: network, registry: registry.New(k), rules: proxy.NewShared(), cidr: cidr, light: light}
	ns.loads = newLoads(k, ns)
	return ns
}

// What each machine has.
var (
	machineCPU    = resource.MustParse(kubelet.MachineCPU)
	machineMemory = resource.MustParse(kubelet.MachineMemory)
)

// node is a machine: its link to the control plane, its runtime, and the
// processes on it.
type node struct {
	name    string
	number  int    // from 1
	podCIDR string // "" while the network plugin has no addresses to hand out
	link    *fault.Link
	runtime *runtime.Runtime
	net     *network.Node
	kubelet *component
	proxy   *component // nil on light nodes

	agent *kubelet.Kubelet                    // of the newest kubelet process
	join  *joining                            // while the kubelet has no client certificate; else nil
	short map[corev1.NodeConditionType]string // what the machine is short of
}

// powerOnPause is what lies between two machines that are powered on together.
const powerOnPause = 3 * time.Millisecond

// powerOn powers on so many machines.
func (ns *nodes) powerOn(t *sim.Task, count int) {
	for range count {
		ns.add(t, "")
		t.Sleep(powerOnPause)
	}
}

// add powers on another machine. Its kubelet has its client certificate
// already, but where there is a bootstrap token to ask for one.
func (ns *nodes) add(t *sim.Task, token string) *node {
	i := len(ns.list) + 1
	n := &node{name: fmt.Sprintf("node-%d", i), number: i, short: map[corev1.NodeConditionType]string{}}
	if token == "" {
		n.podCIDR = ns.cidr.node(i).String() // from when the cluster was made
	}
	n.link = fault.NewLink(n.name)
	n.runtime = ns.newRuntime(n)
	n.net = ns.network.AddNode(n.name, nodeAddress(i), n.podCIDR, n.runtime)
	ns.makeInstance(n)

	ns.addKubelet(n, token)
	n.kubelet.begin(t.Causes(), "")
	if !ns.light {
		ns.addProxy(n)
		if n.join == nil {
			n.proxy.begin(t.Causes(), "")
		}
	}
	ns.list = append(ns.list, n)
	return n
}

// makeInstance has the machine be a new instance of the cloud, if machines are.
func (ns *nodes) makeInstance(n *node) {
	if ns.cloud != nil {
		ns.cloud.MakeInstance(n.name, n.net.Address, n.number)
	}
}

// The nodes' addresses begin at 192.168.0.11, after those of the control plane's
// machines, and leave out the ends of each /24.
const (
	firstAddress  = 10
	addressesEach = 250
)

// nodeAddress is the address of node number i, from 1.
func nodeAddress(i int) string {
	before := firstAddress + i - 1
	return fmt.Sprintf("192.168.%d.%d", before/addressesEach, 1+before%addressesEach)
}

// newRuntime is a machine's container runtime, which knows the images that hold more than
// a port that answers.
func (ns *nodes) newRuntime(n *node) *runtime.Runtime {
	r := runtime.New(ns.k, ns.registry, runtime.Config{Node: n.name, PodCIDR: n.podCIDR, CPU: machineCPU.ScaledValue(resource.Nano), Memory: machineMemory.Value()})
	r.SetDialer(ns.network)
	r.SetLoads(ns.loads)
	r.SetAPI(func(namespace, account, pod string) client.Interface {
		return n.link.Wrap(ns.servers.client(trace.Lane{Component: trace.CompPod, Instance: pod}, authn.ServiceAccount(namespace, account)))
	})
	r.SetProgram(metricsserver.Image, func(in runtime.Instance) runtime.Program { return metricsserver.Start(in, ns.scrape) })
	r.SetProgram(metricsadapter.Image, func(in runtime.Instance) runtime.Program { return metricsadapter.Start(in, ns.loads) })
	r.SetProgram(operator.Image, operator.Start)
	r.SetProgram(resourceconsumer.Image, resourceconsumer.Start)
	r.SetProgram(resourceconsumer.Controller, resourceconsumer.StartController)
	r.SetProgram(resourceconsumer.ExternalMetrics, resourceconsumer.StartExternalMetrics)
	r.SetProgram(mounttest.Image, mounttest.Start)
	r.SetProgram(podsigner.Image, podsigner.Start)
	r.SetProgram(mtls.Server, mtls.StartServer)
	r.SetProgram(mtls.Client, mtls.StartClient)
	r.SetProgram(descheduler.Image, descheduler.Start)
	r.SetProgram(program.Image, func(in runtime.Instance) runtime.Program { return program.Start(in, ns.scheduler) })
	return r
}

func (ns *nodes) addKubelet(n *node, token string) {
	lane := trace.Lane{Component: trace.CompKubelet, Instance: n.name}
	if token != "" {
		n.join = &joining{bootstrap: kubelet.Bootstrap{
			Node: n.name, Request: ns.servers.first.Authenticators().Authority.Request,
		}}
	}
	n.kubelet = ns.components.add("kubelet/"+n.name, lane, func(p *sim.Process) {
		if n.join != nil {
			n.join.bootstrap.Client = throttle.New(p, lane, n.link.Wrap(ns.servers.bearer(lane, token)), "bootstrap", throttle.Limits{})
			p.Go("bootstrap", n.bootstrap)
			return
		}
		n.agent = kubelet.Start(p, n.link.Wrap(ns.servers.client(lane, authn.Node(n.name))), n.runtime,
			kubelet.Config{Node: n.name, Address: n.net.Address, PodCIDR: n.podCIDR, PodCIDRGiven: n.setPodCIDR, Storage: ns.storage.Node(n.name), External: ns.cloud != nil})
		for _, s := range shortages {
			if message := n.short[s.condition]; message != "" {
				n.agent.SetPressure(s.condition, message, trace.ID{})
			}
		}
	})
}

// setPodCIDR configures the node's network plugin with the addresses that the Node now says its
// pods have. The configuration is a file of the machine: the next kubelet finds it.
func (n *node) setPodCIDR(cidr string) {
	n.podCIDR = cidr
	n.net.SetPodCIDR(cidr)
	n.runtime.SetPodCIDR(cidr)
}

func (ns *nodes) addProxy(n *node) {
	lane := trace.Lane{Component: trace.CompProxy, Instance: n.name}
	n.proxy = ns.components.add("proxy/"+n.name, lane, func(p *sim.Process) {
		proxy.Start(p, n.link.Wrap(ns.servers.client(lane, authn.Component("kube-proxy"))), proxy.Config{Node: n.net, ClusterCIDR: ns.cidr.String(), Shared: ns.rules})
	})
}

// find is the node of a name, or nil.
func (ns *nodes) find(name string) *node {
	i := slices.IndexFunc(ns.list, func(n *node) bool { return n.name == name })
	if i < 0 {
		return nil
	}
	return ns.list[i]
}

// scrape is what a kubelet tells of what is used on its node, to a pod on another.
func (ns *nodes) scrape(from, name string) (metricsserver.Sample, error) {
	n := ns.find(name)
	if n == nil || !ns.network.Linked(from, name) {
		return metricsserver.Sample{}, errors.New("i/o timeout")
	}
	if !n.kubelet.up() {
		return metricsserver.Sample{}, errors.New("connect: " + network.Refused)
	}
	pods, cpu, memory := n.runtime.Usage()
	return metricsserver.Sample{CPU: cpu, Memory: memory, Pods: pods}, nil
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
