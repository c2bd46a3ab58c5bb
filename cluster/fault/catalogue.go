package fault

import "kviz/cluster/control"

// Catalogue lists every fault: what it is called, what it applies to, and
// what mends it.
func Catalogue() []control.FaultKind {
	return []control.FaultKind{
		{
			Name: "stop", Targets: []string{"member", "node", "kubelet", "proxy", "runtime", "scheduler", "controller-manager", "dns", "apiserver", "balancer", "kms", "webhook", "oidc", "registry", "store"}, Heals: "start",
			Means: "Stop it in an orderly way; it stays down until it is started. Of the store: every member.",
		},
		{
			Name: "crash", Targets: []string{"member", "node", "kubelet", "proxy", "scheduler", "controller-manager", "dns", "apiserver", "balancer", "kms", "webhook", "oidc", "pod", "store"}, Heals: "start",
			Means: "Kill it without warning. A container of a pod is restarted by its kubelet; everything else stays down until it is started.", Args: "[CONTAINER]",
		},
		{
			Name: "start", Targets: []string{"member", "node", "kubelet", "proxy", "runtime", "scheduler", "controller-manager", "dns", "apiserver", "balancer", "kms", "webhook", "oidc", "registry", "store"},
			Means: "Start what was stopped or has crashed.",
		},
		{
			Name: "restart", Targets: []string{"member", "node", "kubelet", "proxy", "scheduler", "controller-manager", "dns", "apiserver", "balancer", "kms", "webhook", "oidc"},
			Means: "Stop it and start it again at once.",
		},
		{
			Name: "expire", Targets: []string{"certificate", "token"}, Heals: "renew",
			Means: "Let the time of a user's client certificates, or of a service account's tokens, be over, as if nobody had renewed them: the API server answers Unauthorized. What is issued from now on is good.",
		},
		{
			Name: "renew", Targets: []string{"certificate", "token"},
			Means: "Undo expire.",
		},
		{
			Name: "rotate", Targets: []string{"kms", "oidc"},
			Means: "Make a new key. The KMS plugin's the API server notices within a minute, and the old one still decrypts; with the identity provider's tokens are signed from now on, and of the older keys it tells only the newest.",
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
			Name: "cut", Targets: []string{"member", "node", "watch", "informer"}, Heals: "heal",
			Means: "Cut its network: a member from the other members (or from those named), a node from the API server and the other nodes. Of a watch: break its connection once; it is opened again where it was, and nothing is lost.", Args: "[MEMBER…]",
		},
		{
			Name: "heal", Targets: []string{"member", "node", "store", "watch", "informer", "webhook"},
			Means: "Mend every link of it, and a member's disk; of the store, every member's; a watch is told what it has missed; a webhook is fast and honest again.",
		},
		{
			Name: "slow", Targets: []string{"member", "node", "registry", "apiserver", "watch", "informer", "webhook", "oidc", "queue"}, Heals: "fast",
			Means: "Make it slow: a member's disk by this much a write, a node's link by this much a request, the API server by this much a request, a watch at the store by this much a revision, a client's watch by this much an event, a webhook or the identity provider by this much an answer, a controller's work queue by this much a run, the registry by this factor.", Args: "DURATION|FACTOR",
		},
		{
			Name: "fast", Targets: []string{"member", "node", "registry", "apiserver", "watch", "informer", "webhook", "oidc", "queue"},
			Means: "Undo slow.",
		},
		{
			Name: "stall", Targets: []string{"watch", "informer"}, Heals: "heal",
			Means: "Have the store tell the API server nothing more of one kind of object: its watch falls behind, and is cancelled if what it has missed is compacted meanwhile. Of a client's watch: its events wait at the API server.",
		},
		{
			Name: "lie", Targets: []string{"webhook"}, Heals: "heal",
			Means: "Have it answer wrongly: to another request (uid, the default), with a patch that is none, with the contrary of what it should (verdict), or with garbage that begins well.", Args: "[uid|patch|verdict|garbage]",
		},
		{
			Name: "delay", Targets: []string{"member"}, Heals: "heal",
			Means: "Delay every message between two members.", Args: "PEER DURATION",
		},
		{
			Name: "drop", Targets: []string{"member", "informer"}, Heals: "heal",
			Means: "Lose this fraction of the messages between two members. Of a client's watch: lose the next event, once; its cache is wrong until the object changes again or the client lists anew.", Args: "PEER FRACTION",
		},
		{
			Name: "duplicate", Targets: []string{"member"}, Heals: "heal",
			Means: "Deliver this fraction of the messages between two members twice.", Args: "PEER FRACTION",
		},
		{
			Name: "reorder", Targets: []string{"member"}, Heals: "heal",
			Means: "Let this fraction of the messages between two members be overtaken by later ones.", Args: "PEER FRACTION",
		},
		{
			Name: "mute", Targets: []string{"member"}, Heals: "heal",
			Means: "Lose what it sends to the other members (or to those named); it hears them still: a cut one way.", Args: "[MEMBER…]",
		},
		{
			Name: "deafen", Targets: []string{"member"}, Heals: "heal",
			Means: "Lose what the other members (or those named) send to it; they hear it still: a cut the other way.", Args: "[MEMBER…]",
		},
		{
			Name: "partition", Targets: []string{"store"}, Heals: "heal",
			Means: "Cut the members into groups that do not reach one another; members that are not named are a group of their own.", Args: "MEMBER,MEMBER… [MEMBER,MEMBER…]",
		},
		{
			Name: "power-cut", Targets: []string{"member"}, Heals: "start",
			Means: "Take its machine's power: unlike a crash it loses also what it had written and not yet synced.",
		},
		{
			Name: "fill", Targets: []string{"member", "audit"}, Heals: "free",
			Means: "Fill its disk: it can write nothing more. Of an API server's audit log: requests go on, and are not on record.",
		},
		{
			Name: "free", Targets: []string{"member", "audit"},
			Means: "Make room on its disk. A member that has stopped because of it needs a start.",
		},
		{
			Name: "lead", Targets: []string{"member"},
			Means: "Hand the leadership to it.",
		},
		{
			Name: "corrupt", Targets: []string{"member"},
			Means: "Damage the log file of a member that is down; it must find that out before it votes again. It comes back with rejoin.", Args: "[meta|metas|truncate|middle|flip|empty]",
		},
		{
			Name: "wipe", Targets: []string{"member", "store"},
			Means: "Lose its disk. A member cannot come back under its name, because it has forgotten its votes; of the store: every disk, and an empty one is begun. A backup brings it back (kviz restore); without one, reinstall makes a new cluster of it.",
		},
		{
			Name: "rejoin", Targets: []string{"member"},
			Means: "Replace it by a new, empty member: member remove, member add as a learner, promote when it has caught up.",
		},
		{
			Name: "recover", Targets: []string{"member"},
			Means: "The quorum is lost for good: go on from this one member's data alone, as etcd --force-new-cluster. What only others had is lost.",
		},
		{
			Name: "add-learner", Targets: []string{"store"},
			Means: "Add an empty member that gets the log and has no vote.",
		},
		{
			Name: "add-voter", Targets: []string{"store"},
			Means: "Add an empty member that has a vote at once: the quorum may grow before it has caught up.",
		},
		{
			Name: "promote", Targets: []string{"member"},
			Means: "Give a learner that has caught up its vote.",
		},
		{
			Name: "remove", Targets: []string{"member"},
			Means: "Take it out of the group for good; its name is not used again.",
		},
		{
			Name: "split-vote", Targets: []string{"store"},
			Means: "Let the next election end without a winner: as many candidates at once as it takes.",
		},
		{
			Name: "slow-elections", Targets: []string{"store"}, Heals: "fast-elections",
			Means: "Watch elections in slow motion: heartbeats and election timeouts take this many times as long.", Args: "FACTOR",
		},
		{
			Name: "fast-elections", Targets: []string{"store"},
			Means: "Undo slow-elections.",
		},
		{
			Name: "snapshot", Targets: []string{"member"},
			Means: "Have it write a snapshot and cut its log off behind it: a member that lags further gets the snapshot installed.",
		},
		{
			Name: "defrag", Targets: []string{"member", "store"},
			Means: "Rewrite its database without the holes that compaction left. It answers nobody meanwhile; of the store: one member after another.",
		},
		{
			Name: "compact", Targets: []string{"store"},
			Means: "Throw away the history before the newest revision, or before the one named: older reads and watches fail from then on.", Args: "[REVISION]",
		},
		{
			Name: "quota", Targets: []string{"store"},
			Means: "Set how big a member's database may grow before the NOSPACE alarm (etcd --quota-backend-bytes; 2GiB unless set).", Args: "SIZE",
		},
		{
			Name: "disarm", Targets: []string{"store"},
			Means: "Clear every alarm, as etcdctl alarm disarm. It comes back if what raised it is not mended.",
		},
		{
			Name: "reinstall", Targets: []string{"store"},
			Means: "After the store was wiped: apply kubeadm's add-ons again (the rights of CoreDNS) and restart DNS, kube-proxies and kubelets, so that nodes register with the empty API. Containers that it knows nothing of end then.",
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
