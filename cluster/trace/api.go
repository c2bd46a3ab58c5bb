package trace

import "time"

// Kinds of the API server.
var (
	RequestReceived = define[Request]("api.request", GrainStage,
		"A request arrived at the API server.",
		"The request's row in the pipeline pane.",
		"apiserver pkg/server/config.go DefaultBuildHandlerChain")
	RequestStage = define[Stage]("api.stage", GrainStage,
		"One stage of the request pipeline did its work and let the request pass, or ended it.",
		"The lit stage and the lines it changed in the object.",
		"apiserver pkg/endpoints/handlers create.go, update.go, patch.go")
	RequestDone = define[Response]("api.response", GrainStage,
		"The API server answered a request.",
		"The status code and, if it was refused, the stage that refused.",
		"apiserver pkg/endpoints/handlers/responsewriters WriteObjectNegotiated")
	WatchCacheEvent = define[CacheUpdate]("api.watchcache", GrainStage,
		"The API server's watch cache took in one event from the store and fans it out.",
		"The cache's revision against the store's.",
		"apiserver pkg/storage/cacher/watch_cache.go processEvent")
	WatchCacheListed = define[CacheList]("api.watchcache-list", GrainStage,
		"The API server's watch cache listed its kind from the store again: the watch it lived on was cancelled.",
		"The watches of this kind, which all end: their clients get 410 Gone for old revisions and list again too.",
		"apiserver pkg/storage/cacher/cacher.go startCaching; watch_cache.go Replace")
	ObjectUndecodable = define[Undecodable]("api.undecodable", GrainStage,
		"The API server cannot decode what the store holds under a key. It serves the other objects of the kind.",
		"The key: only etcdctl can read or delete it.",
		"apiserver pkg/storage/etcd3/corrupt_obj_deleter.go corruptObjErr")
	WatchOpened = define[Watch]("watch.open", GrainWatch,
		"A client opened a watch.",
		"The new watcher of this kind.",
		"apiserver pkg/storage/cacher/cacher.go Watch")
	WatchClosed = define[Watch]("watch.close", GrainWatch,
		"A watch ended: the client left, the server ended it, or it fell too far behind.",
		"The reason; the client will list or watch again.",
		"apiserver pkg/storage/cacher/cache_watcher.go forget")
	WatchDelivered = define[WatchEvent]("watch.event", GrainWatch,
		"A watch event reached a client.",
		"The client's cache, which now knows the object.",
		"client-go tools/cache/reflector.go handleAnyWatch")
	WatchHeld = define[WatchEvent]("watch.held", GrainWatch,
		"A watch event is held on its way to a client, which acts on what it knew before.",
		"The client's cache beside the store: the fields that it has otherwise, until the event is released.",
		"client-go tools/cache/reflector.go handleAnyWatch, which waits for the connection")
	WatchLost = define[WatchEvent]("watch.lost", GrainWatch,
		"A watch event was lost on its way to a client, which does not know: its cache stays as it was.",
		"The client's cache against the store: they differ until the object changes again or the client lists again.",
		"client-go tools/cache/reflector.go handleAnyWatch trusts the order of resourceVersions and cannot see a gap")
)

// Request is a request as it arrived.
type Request struct {
	Request     uint64 // number of the request, ties its events together
	Verb        string // get, list, watch, create, update, patch, delete, deletecollection
	Path        string
	Resource    string // "pods"
	Subresource string `json:",omitempty"`
	Namespace   string `json:",omitempty"`
	Name        string `json:",omitempty"`
	User        string
	Client      string  // who sent it: a lane name or a user agent
	Agent       string  `json:",omitempty"` // of a binding from outside: what the program calls itself, "kube-scheduler/v1.37.1"
	Body        *Object `json:",omitempty"`
	Patch       string  `json:",omitempty"` // patch content, for patches
}

// The stages of the pipeline, in order.
const (
	StageAuthentication      = "authentication"
	StageAudit               = "audit"
	StageImpersonation       = "impersonation"
	StageFairness            = "priority-and-fairness"
	StageAuthorization       = "authorization"
	StageDecode              = "decode"
	StageMutatingAdmission   = "mutating-admission"
	StageValidation          = "validation"
	StageValidatingAdmission = "validating-admission"
	StageStorage             = "storage"
)

// The halves of the storage stage that only resources with encryption at rest
// have, and which are listed beside it: what is written is encrypted before, what
// was read is decrypted after. By is the provider and the key ("aescbc key1").
const (
	StageEncrypt = "encrypt"
	StageDecrypt = "decrypt"
)

// StageAggregator is in the place of all stages after authorization for requests
// that another server answers: By is the Service and the endpoint they were sent to.
const StageAggregator = "aggregator"

// Stages lists the pipeline's stages in order.
func Stages() []string {
	return []string{
		StageAuthentication, StageAudit, StageImpersonation, StageFairness, StageAuthorization,
		StageDecode, StageMutatingAdmission, StageValidation, StageValidatingAdmission, StageStorage,
	}
}

// Stage is what one stage did with a request.
type Stage struct {
	Request uint64
	Stage   string
	By      string      `json:",omitempty"` // the plugin or rule that decided: "ServiceAccount", "ClusterRoleBinding cluster-admin"
	Verdict string      // "pass", "refuse"
	Note    string      // one sentence of what it did
	Diff    []FieldDiff `json:",omitempty"`
	Code    int         `json:",omitempty"` // HTTP code when refused
	Flow    *FlowWait   `json:",omitempty"` // of priority and fairness, for a request that found no free seat

	// Level is of the stage audit where there is a policy: how much of the request it
	// has written down (None, Metadata, Request, RequestResponse).
	Level string `json:",omitempty"`

	// Took is how long a webhook took; 0 for what runs inside the server. Virtual.
	Took time.Duration `json:",omitempty"`

	// Asked is of the stage authorization, where a file says which authorizers there
	// are: what each that was asked said, "rbac: no opinion".
	Asked []string `json:",omitempty"`

	// Proof is of the stage authentication, for requests that come with credentials
	// from outside.
	Proof *Proof `json:",omitempty"`
}

// Proof is what became of the credentials that a request shows.
type Proof struct {
	User  string   `json:",omitempty"` // whom they prove; "" for nobody
	Tried []string // what each authenticator that was asked said: "x509: shows no certificate"
}

// Response is how a request ended.
type Response struct {
	Request uint64
	Verb    string
	Code    int
	Reason  string        `json:",omitempty"` // metav1.StatusReason
	Message string        `json:",omitempty"`
	Stage   string        `json:",omitempty"` // the stage that ended it, if refused
	Object  *Object       `json:",omitempty"`
	Took    time.Duration // virtual
}

// CacheList is a watch cache that was filled again by a list.
type CacheList struct {
	Resource string
	Custom   string `json:",omitempty"` // of a custom kind: with its group, and its version where that is not the stored one
	Revision int64  // of the list; the cache remembers no event before it
	Was      int64  // up to where it had followed the store
	Objects  int
}

// Undecodable is a value at the store that is no object.
type Undecodable struct {
	Resource string
	Custom   string `json:",omitempty"` // of a custom kind: with its group, and its version where that is not the stored one
	Key      string
	Revision int64 // that wrote it
	Error    string
}

// CacheUpdate is one event in the watch cache.
type CacheUpdate struct {
	Resource string
	Custom   string `json:",omitempty"` // of a custom kind: with its group, and its version where that is not the stored one
	Type     string // ADDED, MODIFIED, DELETED
	Revision int64
	Watchers int // how many watchers it goes to

	// Oldest is the revision of the oldest event the window has, and Kept how many
	// it has, once it has let older ones go: a watch from before gets 410 Gone. 0
	// while it has all since the cache was filled.
	Oldest int64 `json:",omitempty"`
	Kept   int   `json:",omitempty"`
}

// Watch is a watch opened or closed.
type Watch struct {
	Watch    uint64 // number of the watch
	Resource string
	Custom   string `json:",omitempty"` // of a custom kind: with its group, and its version where that is not the stored one
	Client   string
	From     int64  // resourceVersion it starts at
	Selector string `json:",omitempty"`
	Reason   string `json:",omitempty"` // why it closed
	Buffer   int    `json:",omitempty"` // how many events may wait for its client
}

// WatchEvent is one event delivered to one client.
type WatchEvent struct {
	Watch    uint64
	Client   string
	Type     string // ADDED, MODIFIED, DELETED, BOOKMARK, ERROR
	Revision int64
	Object   *Object `json:",omitempty"`

	// Unknown is what the client's cache has otherwise (From) than it would with what it
	// does not know (To): of an event that is held or lost. Behind says that it came behind
	// the one after it; Newer is the revision of that one, if it was of the same object.
	Unknown []FieldDiff `json:",omitempty"`
	Behind  bool        `json:",omitempty"`
	Newer   int64       `json:",omitempty"`
}

// APIServiceChecked is a look of the aggregator at one server behind it.
var APIServiceChecked = define[APIServiceCheck]("apiservice.check", GrainStage,
	"The API server found out whether the server behind an APIService can be reached.",
	"The condition Available of the APIService, and why it is as it is: while it is not True, requests for its group are answered with 503.",
	"kube-aggregator pkg/controllers/status/remote/remote_available_controller.go sync")

// APIServiceCheck is what a look at an APIService came to.
type APIServiceCheck struct {
	APIService string
	Service    string // namespace/name
	Endpoint   string `json:",omitempty"` // that was asked last; "" where nobody was
	Available  string // True, False
	Reason     string
	Message    string
	Changed    bool          `json:",omitempty"` // status or reason are others than before
	Took       time.Duration // virtual
}
