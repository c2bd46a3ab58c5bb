// Package trace is the one totally ordered stream of everything that happens
// in a cluster: the event schema, the bounded in-memory stream, and the
// recording file.
//
// Kubernetes has no such stream. It has logs, audit records, Events objects
// and metrics, each telling a part; kviz writes all of it down as one
// sequence of [Event]s in which every event names its causes, so that a proxy
// rule leads back, link by link, to the kubectl apply that started it.
//
// The screen is a fold of this stream (package view) and never reads a live
// object. Start reading at [Event], then [Kind], then the payload of a kind
// (one file an area: store.go, api.go, informer.go, …).
package trace

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ID numbers an event. Control-plane events are 1, 2, 3 …; what happens in the
// raft and wall-clock lanes between event 214 and event 215 is 214.1, 214.2 ….
// So the control-plane numbers are the same on every machine that runs the
// same seed and the same inputs. The zero ID means "no event".
type ID struct {
	Seq uint64
	Sub uint32
}

// String is the number people say aloud: "214" or "214.3".
func (id ID) String() string {
	if id.Sub == 0 {
		return strconv.FormatUint(id.Seq, 10)
	}
	return strconv.FormatUint(id.Seq, 10) + "." + strconv.FormatUint(uint64(id.Sub), 10)
}

// IsZero reports whether id names no event.
func (id ID) IsZero() bool { return id == ID{} }

// Compare orders IDs as the stream does: -1, 0 or 1.
func (id ID) Compare(o ID) int {
	switch {
	case id.Seq < o.Seq || id.Seq == o.Seq && id.Sub < o.Sub:
		return -1
	case id == o:
		return 0
	}
	return 1
}

// ParseID reads what [ID.String] wrote, with or without a leading '#'.
func ParseID(s string) (ID, error) {
	whole, sub, dotted := strings.Cut(strings.TrimPrefix(s, "#"), ".")
	seq, err := strconv.ParseUint(whole, 10, 64)
	if err != nil {
		return ID{}, fmt.Errorf("event number %q: want a number such as 214 or 214.3", s)
	}
	id := ID{Seq: seq}
	if dotted {
		n, err := strconv.ParseUint(sub, 10, 32)
		if err != nil || n == 0 {
			return ID{}, fmt.Errorf("event number %q: want a number such as 214 or 214.3", s)
		}
		id.Sub = uint32(n)
	}
	return id, nil
}

// Grain is how big a step an event ends. A step of one grain runs to the next
// event of that grain or a coarser one.
type Grain uint8

// The grains, finest first.
const (
	GrainRaft      Grain = iota // one raft message, disk write or vote
	GrainCommit                 // one revision of the store
	GrainStage                  // one stage of an API request, one kubelet or proxy action
	GrainWatch                  // one watch event delivered
	GrainQueue                  // one move of a work queue or scheduling queue
	GrainDecision               // one reconcile or scheduling decision
	GrainConverged              // one object whose status now says what its spec asks
)

var grainNames = [...]string{"raft", "commit", "stage", "watch", "queue", "decision", "converged"}

// String is the grain's name in the console (`kviz step watch`).
func (g Grain) String() string {
	if int(g) < len(grainNames) {
		return grainNames[g]
	}
	return "grain(" + strconv.Itoa(int(g)) + ")"
}

// GrainNames lists the grains, finest first.
func GrainNames() []string { return append([]string(nil), grainNames[:]...) }

// ParseGrain is the inverse of [Grain.String].
func ParseGrain(s string) (Grain, error) {
	for i, n := range grainNames {
		if n == s {
			return Grain(i), nil
		}
	}
	return 0, fmt.Errorf("unknown grain %q: one of %s", s, strings.Join(grainNames[:], ", "))
}

// Lane says who an event happened to: a component and, where there are
// several, which instance ("kubelet", "node-1"). The screen draws one swimlane
// a lane.
type Lane struct {
	Component string
	Instance  string
}

// String is "component" or "component/instance".
func (l Lane) String() string {
	if l.Instance == "" {
		return l.Component
	}
	return l.Component + "/" + l.Instance
}

// The components. Controllers use "controller/<name>" as Component with no
// instance: Lane{"deployment-controller", ""}.
const (
	CompStore      = "store"                    // the store as its clients see it
	CompMember     = "member"                   // a raft store member; instance a, b, c
	CompAPIServer  = "apiserver"                //
	CompKCM        = "controller-manager"       // process-level events of the controller manager
	CompCCM        = "cloud-controller-manager" // process-level events of it
	CompScheduler  = "scheduler"                //
	CompKubelet    = "kubelet"                  // instance: node
	CompRuntime    = "runtime"                  // the CRI runtime; instance: node
	CompProxy      = "proxy"                    // kube-proxy; instance: node
	CompPod        = "pod"                      // a program in a pod that uses the API; instance: namespace/name
	CompNet        = "net"                      // a packet; instance: node it is on
	CompCSI        = "csi-driver"               // the storage driver; instance: node, of its node service
	CompDNS        = "dns"                      // cluster DNS
	CompRegistry   = "registry"                 // the image registry
	CompCloud      = "cloud"                    // the cloud that the machines are in
	CompKMS        = "kms"                      // the KMS plugin beside the API server
	CompBalancer   = "balancer"                 // the load balancer before several API servers
	CompWebhook    = "webhook"                  // an admission webhook server; instance: its name
	CompOIDC       = "oidc"                     // the identity provider
	CompConsole    = "console"                  // the person at the keys
	CompClient     = "client"                   // a client from another process
	CompSimulation = "kviz"                     // the simulator itself: pause, fault, seed
)

// Ref names an API object, or a thing that is no API object by Kind alone
// (Kind "Member", Name "a").
type Ref struct {
	APIVersion string `json:",omitempty"` // "v1", "apps/v1"
	Kind       string `json:",omitempty"` // "Pod"
	Namespace  string `json:",omitempty"`
	Name       string `json:",omitempty"`
	UID        string `json:",omitempty"`
}

// String is "Pod demo/web-1", "Node node-1", or "" for the zero Ref.
func (r Ref) String() string {
	switch {
	case r == (Ref{}):
		return ""
	case r.Name == "" && r.Namespace == "": // of a request for a whole kind
		return r.Kind
	case r.Name == "":
		return strings.TrimSpace(r.Kind + " in " + r.Namespace)
	}
	return strings.TrimSpace(r.Kind + " " + r.Key())
}

// Key is "namespace/name", or "name" where there is no namespace.
func (r Ref) Key() string {
	if r.Namespace != "" {
		return r.Namespace + "/" + r.Name
	}
	return r.Name
}

// Event is one thing that happened. Events are immutable once appended;
// payloads are shared, never copied.
type Event struct {
	ID     ID
	At     time.Duration // virtual time since the cluster's epoch
	Lane   Lane
	Kind   Kind
	Object Ref  // what it is about; may be zero
	Causes []ID // the events that made it happen, oldest first; none for inputs and timers

	// Payload has the Go type that [Kind.Info] has for its kind, always a pointer
	// to a struct of this package, or nil where the kind has none.
	Payload any
}

// Grain is the step grain of the event, given by its kind.
func (e *Event) Grain() Grain { return e.Kind.Info().Grain }

// Outside reports whether the event lies in a raft or wall-clock lane, whose
// events are numbered between the control-plane events and left out of the
// comparison of two runs.
func (e *Event) Outside() bool { return e.Kind.Info().Outside }
