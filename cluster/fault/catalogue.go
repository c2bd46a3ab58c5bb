package fault

import "kviz/cluster/control"

// Catalogue lists every fault: what it is called, what it applies to, and
// what mends it.
func Catalogue() []control.FaultKind {
	return []control.FaultKind{
		{
			Name: "stop", Targets: []string{"member", "node", "kubelet", "proxy", "runtime", "scheduler", "controller-manager", "dns", "apiserver", "registry"}, Heals: "start",
			Means: "Stop it in an orderly way; it stays down until it is started.",
		},
		{
			Name: "crash", Targets: []string{"member", "node", "kubelet", "proxy", "scheduler", "controller-manager", "dns", "apiserver", "pod"}, Heals: "start",
			Means: "Kill it without warning. A container of a pod is restarted by its kubelet; everything else stays down until it is started.", Args: "[CONTAINER]",
		},
		{
			Name: "start", Targets: []string{"member", "node", "kubelet", "proxy", "runtime", "scheduler", "controller-manager", "dns", "apiserver", "registry"},
			Means: "Start what was stopped or has crashed.",
		},
		{
			Name: "restart", Targets: []string{"member", "node", "kubelet", "proxy", "scheduler", "controller-manager", "dns", "apiserver"},
			Means: "Stop it and start it again at once.",
		},
		{
			Name: "break-cni", Targets: []string{"node"}, Heals: "mend-cni",
			Means: "Take its network plugin's configuration away: no new pod gets a network, and the node is not ready.",
		},
		{
			Name: "mend-cni", Targets: []string{"node"},
			Means: "Put its network plugin's configuration back.",
		},
		{
			Name: "pressure", Targets: []string{"node"}, Heals: "relieve",
			Means: "Make it short of memory, disk or process IDs, as the kubelet's eviction signals would find it.", Args: "memory|disk|pid",
		},
		{
			Name: "relieve", Targets: []string{"node"},
			Means: "End every shortage of it.",
		},
		{
			Name: "flush", Targets: []string{"node"},
			Means: "Empty its iptables, as iptables -F does; kube-proxy notices within 30 s and writes them again.",
		},
		{
			Name: "cut", Targets: []string{"member", "node"}, Heals: "heal",
			Means: "Cut its network: a member from the other members (or from those named), a node from the API server and the other nodes.", Args: "[MEMBER…]",
		},
		{
			Name: "heal", Targets: []string{"member", "node"},
			Means: "Mend every link of it, and a member's disk.",
		},
		{
			Name: "slow", Targets: []string{"member", "node", "registry"}, Heals: "fast",
			Means: "Make it slow: a member's disk by this much a write, a node's link by this much a request, the registry by this factor.", Args: "DURATION|FACTOR",
		},
		{
			Name: "fast", Targets: []string{"member", "node", "registry"},
			Means: "Undo slow.",
		},
		{
			Name: "delay", Targets: []string{"member"}, Heals: "heal",
			Means: "Delay every message between two members.", Args: "PEER DURATION",
		},
		{
			Name: "drop", Targets: []string{"member"}, Heals: "heal",
			Means: "Lose this fraction of the messages between two members.", Args: "PEER FRACTION",
		},
		{
			Name: "fill", Targets: []string{"member"}, Heals: "free",
			Means: "Fill its disk: it can write nothing more.",
		},
		{
			Name: "free", Targets: []string{"member"},
			Means: "Make room on its disk. A member that has stopped because of it needs a start.",
		},
		{
			Name: "lead", Targets: []string{"member"},
			Means: "Hand the leadership to it.",
		},
	}
}

// TargetKind is the part of a target before the slash: "member" of "member/a",
// "scheduler" of "scheduler".
func TargetKind(target string) string {
	for i := range len(target) {
		if target[i] == '/' {
			return target[:i]
		}
	}
	return target
}

// Lookup finds a fault by name.
func Lookup(name string) (control.FaultKind, bool) {
	for _, k := range Catalogue() {
		if k.Name == name {
			return k, true
		}
	}
	return control.FaultKind{}, false
}
