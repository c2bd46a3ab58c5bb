package trace

import "time"

// Kinds of people and the simulator itself.
var (
	RunStart = define[Run]("run.start", GrainDecision,
		"A run began.", "Seed and shape of the cluster.", "kviz")
	Ready = define[none]("run.ready", GrainConverged,
		"The control plane is up and every node is Ready.", "The cluster map.", "kviz")
	CommandStart = define[Command]("console.command", GrainDecision,
		"A person (or a script, or a lesson) gave a command.",
		"Everything that follows from it.", "kviz console")
	CommandEnd = define[Command]("console.done", GrainDecision,
		"A command ended.", "Its exit status.", "kviz console")
	FaultInjected = define[Fault]("fault.inject", GrainDecision,
		"Something was broken on purpose.", "The target, and who notices first.", "kviz fault")
	FaultHealed = define[Fault]("fault.heal", GrainDecision,
		"Something broken on purpose was mended.", "How the cluster catches up.", "kviz fault")
	ProcessStart = define[Process]("process.start", GrainDecision,
		"A component's process started.", "The component on the map.", "kviz")
	ProcessExit = define[Process]("process.exit", GrainDecision,
		"A component's process ended.", "The component on the map.", "kviz")
	ProcessPanic = define[Panicked]("process.panic", GrainDecision,
		"A component panicked while it worked on one object. It leaves the object alone for a while, and goes on with others.",
		"The object, and what the component says of it in a Warning.",
		"apimachinery pkg/util/runtime HandleCrash")
	EventRecorded = define[KubeEvent]("event.record", GrainStage,
		"A component wrote a Kubernetes Event about an object.",
		"The events of the object, as kubectl describe shows them.",
		"client-go tools/record/event.go")
	InvariantBroken = define[Broken]("run.broken", GrainDecision,
		"Something that must never happen happened: a bug in kviz.",
		"The message, the seed and the last events; please report them.", "kviz")

	ClockChanged = outside[Clock]("clock.change",
		"The clock was paused, resumed, stepped or set to another speed.",
		"The mark in the timeline.", "kviz")
	ClockPace = outside[Pace]("clock.pace",
		"Virtual time fell behind the clock's speed, or keeps up with it again.",
		"The speed in the status line.", "kviz")
	EdgePanic = outside[Panicked]("edge.panic",
		"A program outside the cluster was answered with an internal error, because its request made kviz panic.",
		"What was requested; please report it.", "net/http Server.serve")
	RequestWaiting = outside[Request]("api.waiting",
		"A request from outside arrived while the cluster is paused; it waits.",
		"The request before the pipeline's first stage.", "kviz")
)

// Run is the shape of a run.
type Run struct {
	Version string
	Seed    uint64
	Epoch   time.Time
	Store   string // raft, mvcc
	Members int
	Nodes   int
	Quota   int64 `json:",omitempty"` // bytes that a store member's database may have; 0 is etcd's default
	// Without are the components that kviz has not started, so that programs from outside can
	// take their places: "scheduler", "controller-manager".
	Without []string `json:",omitempty"`
}

// Command is one console command.
type Command struct {
	Line   string
	Source string // "console", or file:line
	Exit   int    `json:",omitempty"`
	Output string `json:",omitempty"` // first lines of the output, for the end
}

// Fault is something broken or mended.
type Fault struct {
	Fault  string // stop, crash, cut, slow, …
	Target string // member/b, node/node-1, …
	Detail string `json:",omitempty"`
	// Undoes are the faults of the same target that are over with this one: with "start"
	// it is "stop" and "crash".
	Undoes  []string `json:",omitempty"`
	Passing bool     `json:",omitempty"` // it is over as soon as it has happened
	Members bool     `json:",omitempty"` // it is done to each member of the store
	// Links says that what it undoes is over on the links of the target, a member, also
	// where it was done at their other end; Peers are those to whom, if not to all.
	Links bool     `json:",omitempty"`
	Peers []string `json:",omitempty"`
}

// Process is a component's process.
type Process struct {
	Process string // lane name
	Reason  string `json:",omitempty"`
}

// Panicked is a panic that was contained.
type Panicked struct {
	Process string // lane name
	Doing   string // "sync of the pod"
	Panic   string // what was said, and the function
}

// KubeEvent is a Kubernetes Event as recorded.
type KubeEvent struct {
	Type, Reason, Message string
	From                  string // reporting component
	Regarding             Ref
	Count                 int32
}

// Broken is a broken invariant.
type Broken struct {
	Message string
	Stack   string `json:",omitempty"`
}

// Pace is how fast virtual time really runs.
type Pace struct {
	Speed  float64 // virtual seconds in a real one that should pass
	Actual float64 // that do; less while it falls behind
	Why    string  `json:",omitempty"` // it falls behind: "the machine is busy"
}

// Clock is the state of the clock after a change.
type Clock struct {
	Paused bool
	Speed  float64 // 0 means as fast as possible
	Why    string  `json:",omitempty"`
}
