package trace

import "time"

// Kinds of the informers, work queues and controllers.
var (
	InformerSync = define[Informer]("informer.sync", GrainWatch,
		"An informer has listed its kind and filled its store.",
		"From now on its controller may trust the cache.",
		"client-go tools/cache/reflector.go ListAndWatch")
	InformerRelist = define[Informer]("informer.relist", GrainWatch,
		"An informer starts over with a list: first start, 410 Gone, or a lost watch.",
		"The reason, and the revision it restarts from.",
		"client-go tools/cache/reflector.go ListAndWatch")
	InformerResync = define[Informer]("informer.resync", GrainWatch,
		"An informer tells its handlers of every object in its cache again.",
		"The server is not asked. The keys that enter the queues: what was forgotten is done now.",
		"client-go tools/cache/shared_informer.go shouldResync")

	QueueAdd = define[QueueItem]("queue.add", GrainQueue,
		"A key was added to a work queue (or found already waiting there, and merged).",
		"The queue's row; ×n counts merged adds.",
		"client-go util/workqueue/queue.go Add")
	QueueDelay = define[QueueItem]("queue.delay", GrainQueue,
		"A key waits before it enters the queue: a retry's back-off or a timer.",
		"The delayed set and the time left.",
		"client-go util/workqueue/delaying_queue.go AddAfter")
	QueueGet = define[QueueItem]("queue.get", GrainQueue,
		"A worker took a key from a work queue.",
		"The processing set.",
		"client-go util/workqueue/queue.go Get")
	QueueDone = define[QueueItem]("queue.done", GrainQueue,
		"A worker finished a key; if it was added meanwhile it goes round again.",
		"The dirty set.",
		"client-go util/workqueue/queue.go Done")

	ReconcileStart = define[Reconcile]("reconcile.start", GrainQueue,
		"A controller begins to compare what is wanted with what is.",
		"The object: spec against status.",
		"the controllers' syncHandler, e.g. pkg/controller/deployment syncDeployment")
	ReconcileAction = define[Action]("reconcile.action", GrainDecision,
		"A controller decided to change something, and says why.",
		"The request it sends next.",
		"e.g. pkg/controller/replicaset manageReplicas")
	ReconcileEnd = define[Reconcile]("reconcile.end", GrainDecision,
		"A controller finished comparing: nothing left to do, or an error to retry.",
		"Result and error.",
		"the controllers' processNextWorkItem")
	Converged = define[none]("object.converged", GrainConverged,
		"An object's status now says what its spec asks for.",
		"Spec and status side by side.",
		"e.g. pkg/controller/deployment/util DeploymentComplete")
	LeaderElected = define[Election]("lease.leader", GrainDecision,
		"A component won or lost the Lease that says who is active.",
		"The Lease object in kube-system.",
		"client-go tools/leaderelection/leaderelection.go tryAcquireOrRenew")
)

// Informer is a client-side cache of one kind.
type Informer struct {
	Informer string // lane name of its owner
	Resource string
	Revision int64
	Items    int
	Reason   string `json:",omitempty"`

	// Tombstones is how many objects of the old store are missing from the new list:
	// their deletion was missed, and handlers are told now, with the last known state
	// (client-go's DeletedFinalStateUnknown).
	Tombstones int `json:",omitempty"`

	// Handlers is how many parts of its owner share it, as far as they have come by
	// then.
	Handlers int `json:",omitempty"`
}

// QueueItem is a move of one key. The sizes are those after the move.
type QueueItem struct {
	Queue      string
	Key        string
	Merged     bool          `json:",omitempty"` // Add found the key already dirty
	After      time.Duration `json:",omitempty"` // QueueDelay: how long
	Retries    int           `json:",omitempty"`
	Requeued   bool          `json:",omitempty"` // Done found the key dirty
	Ready      int           // keys ready to be taken
	Processing int
	Delayed    int
}

// Reconcile is one run of a controller over a key.
type Reconcile struct {
	Controller string
	Key        string
	Result     string        `json:",omitempty"` // end: "done", "error", "requeue"
	Error      string        `json:",omitempty"`
	RequeueIn  time.Duration `json:",omitempty"`
	Waits      string        `json:",omitempty"` // end: what it did not do yet, and why: "1 of 3 unavailable, …"

	// end: what the run read from its informers' caches, and what it asked of the API
	// server.
	CacheReads, LiveReads, Writes int `json:",omitempty"`
}

// Action is one thing a controller decided to do.
type Action struct {
	Controller string
	Key        string
	Verb       string // create, update, patch, delete, scale
	Target     Ref
	Why        string // a full sentence: "spec.replicas is 3, 1 pod exists: create 2"
	Desired    string `json:",omitempty"`
	Observed   string `json:",omitempty"`

	Autoscale *Autoscale `json:",omitempty"` // the sum of a HorizontalPodAutoscaler
}

// Election is a Lease won or lost.
type Election struct {
	Lease    string
	Holder   string
	Won      bool
	Previous string `json:",omitempty"`
}
