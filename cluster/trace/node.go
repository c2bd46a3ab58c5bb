package trace

import "time"

// Kinds of the kubelet and what it calls.
var (
	PodWorker = define[PodSync]("kubelet.pod", GrainStage,
		"A pod worker of the kubelet starts to sync its pod: run it, terminate it, or clean up after it.",
		"The pod in the node pane.",
		"pkg/kubelet/pod_workers.go podWorkerLoop")
	PodAdmit = define[PodSync]("kubelet.admit", GrainDecision,
		"The kubelet admitted a pod to its node, or refused it.",
		"The pod's status reason.",
		"pkg/kubelet/kubelet.go canAdmitPod")
	VolumesMounted = define[PodStep]("kubelet.volumes", GrainStage,
		"The kubelet has the pod's volumes mounted, or has renewed what is in one.",
		"The volumes of the pod, before any container exists; later, the files that changed.",
		"pkg/kubelet/volumemanager WaitForAttachAndMount; pkg/volume/util/atomic_writer.go")
	CRICall = define[RuntimeCall]("cri.call", GrainStage,
		"The kubelet called the container runtime.",
		"The step in the pod's list: sandbox, pull, create, start, stop.",
		"cri-api pkg/apis/runtime/v1 api.proto; pkg/kubelet/kuberuntime")
	CNICall = define[RuntimeCall]("cni.call", GrainStage,
		"The container runtime called the network plugin.",
		"The pod's address.",
		"containernetworking/cni libcni ADD, DEL")
	ContainerChange = define[ContainerState]("container.state", GrainStage,
		"A container began, ended, or waits.",
		"The container's cell in the node pane.",
		"pkg/kubelet/pleg/generic.go")
	ProbeResult = define[Probe]("probe.result", GrainStage,
		"A probe's outcome changed: startup, liveness or readiness.",
		"Ready condition; liveness failures restart the container.",
		"pkg/kubelet/prober/worker.go doProbe")
	RestartBackoff = define[PodStep]("kubelet.backoff", GrainQueue,
		"The kubelet waits before it restarts a container or pulls an image again.",
		"The delay: 10 s, doubling to 300 s.",
		"pkg/kubelet/kuberuntime doBackOff")
	NodeStatus = define[NodeReport]("node.status", GrainStage,
		"A kubelet reported its node's state, or the node lifecycle controller changed its opinion of it.",
		"Node conditions and taints.",
		"pkg/kubelet/kubelet_node_status.go; pkg/controller/nodelifecycle")

	ProxySync = define[ProxySyncInfo]("proxy.sync", GrainDecision,
		"kube-proxy on a node brought its rules in line with Services and EndpointSlices.",
		"The rule diff of the node.",
		"pkg/proxy/iptables/proxier.go syncProxyRules")
	RuleChange = define[Rule]("proxy.rule", GrainStage,
		"One rule was added to or removed from a node's chains.",
		"The rule's line, green or red.",
		"pkg/proxy/iptables/proxier.go; iptables-restore")

	PacketHop = define[Hop]("net.hop", GrainStage,
		"A packet met one rule, link or process on its way.",
		"The packet's place in the decision tree.",
		"the Linux kernel's netfilter; simulated")
	PacketEnd = define[Flow]("net.flow", GrainDecision,
		"A connection attempt ended: answered, refused, or timed out.",
		"Which backend answered.",
		"simulated")
)

// PodSync is a pod worker's state.
type PodSync struct {
	Node   string
	Pod    string // namespace/name
	Work   string // sync, terminating, terminated; admit: admitted, refused
	Reason string `json:",omitempty"`
	Note   string `json:",omitempty"`
}

// PodStep is one step of bringing a pod up or down.
type PodStep struct {
	Node      string
	Pod       string
	Container string        `json:",omitempty"`
	What      string        // "volumes mounted", "volume updated", "CrashLoopBackOff", "ImagePullBackOff"
	Detail    string        `json:",omitempty"`
	For       time.Duration `json:",omitempty"`
}

// RuntimeCall is one CRI or CNI call having returned.
type RuntimeCall struct {
	Node      string
	Pod       string
	Container string `json:",omitempty"`
	Call      string // RunPodSandbox, PullImage, CreateContainer, StartContainer, StopContainer, RemoveContainer, StopPodSandbox, RemovePodSandbox; ADD, DEL
	Arg       string `json:",omitempty"` // image, container id, …
	Result    string `json:",omitempty"` // id, address, …
	Error     string `json:",omitempty"`
	// Assumed says what a container is assumed to do whose image is not known, or whose
	// program is not simulated: "to run until stopped (unknown image)".
	Assumed string `json:",omitempty"`
	Took    time.Duration
}

// ContainerState is one container's state.
type ContainerState struct {
	Node      string
	Pod       string
	Container string
	State     string // waiting, running, terminated
	Reason    string `json:",omitempty"`
	ExitCode  int32  `json:",omitempty"`
	Restarts  int32
	Init      bool `json:",omitempty"`
}

// Probe is a probe outcome that changed a result.
type Probe struct {
	Node      string
	Pod       string
	Container string
	Probe     string // startup, liveness, readiness
	OK        bool
	Output    string
	Failures  int32
	Threshold int32
}

// NodeReport is a node's conditions as somebody sees them.
type NodeReport struct {
	Node       string
	By         string            // kubelet, node-lifecycle-controller
	Ready      string            // True, False, Unknown
	Conditions map[string]string `json:",omitempty"` // type -> status
	Taints     []string          `json:",omitempty"`
	Note       string            `json:",omitempty"`
}

// ProxySyncInfo is one sync of a node's rules.
type ProxySyncInfo struct {
	Node      string
	Full      bool // every chain rewritten, or only the changed ones
	Added     int
	Removed   int
	Services  int
	Endpoints int
}

// Rule is one rule of a chain.
type Rule struct {
	Node    string
	Table   string // nat, filter
	Chain   string
	Text    string // as iptables-save prints it, "-A KUBE-SVC-… …"
	Removed bool   `json:",omitempty"`
	Pos     int    // position in the chain after an addition, the first is 1
	Service string `json:",omitempty"` // ns/name:port it serves
}

// Hop is one thing a packet met.
type Hop struct {
	Flow    uint64
	Node    string
	Where   string // chain, "conntrack", "route", "pod", "link"
	Rule    string `json:",omitempty"`
	Verdict string // "no match", "jump KUBE-SVC-…", "DNAT 10.244.1.2:80", "ACCEPT", "DROP", "REJECT", …
	Src     string
	Dst     string
	Why     string `json:",omitempty"` // in words: "drew 0.31, below 0.5"
	RuleAt  ID     `json:",omitzero"`  // the event that wrote the rule
}

// Flow is a connection attempt that ended.
type Flow struct {
	Flow    uint64
	From    string // pod or node
	To      string // as asked for: name or ip:port
	Proto   string
	Backend string `json:",omitempty"` // ip:port that answered
	Pod     string `json:",omitempty"` // pod that answered
	Result  string // "answered", "connection refused", "timed out", "no route to host", "could not resolve host"
	Body    string `json:",omitempty"`
}
