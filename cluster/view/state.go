package view

import (
	"strings"
	"time"

	"kviz/cluster/trace"
)

// State is the whole cluster as far as the trace tells: what folding its
// events up to Last gives. A State from [Builder.Mark] or [History] never
// changes and may be used from any goroutine. Everything reached through it is
// shared: read it, do not change it.
//
// Lists come in a fixed order (by name, or oldest first where that is said).
type State struct {
	At     time.Duration // virtual time since the epoch
	Last   trace.ID      // the last event folded; zero before the first
	Event  *trace.Event  // that event
	Grave  *trace.Event  // the newest that nobody should miss; nil before the first
	Events uint64        // how many were folded
	Lost   uint64        // how many were not there any more when they were to be folded

	Run       Run
	Clock     Clock
	Store     Store
	Scheduler Scheduler

	ServerState               // of the API server; of the first, where there are several
	Others      []OtherServer // the other API servers, by name
	Traffic     Traffic       // of all
	Provider    Provider
	Balancer    Balancer
	Storage     Storage

	lanes     table[string, *Lane]
	processes table[string, *Process]
	commands  table[uint64, *Command]
	faults    table[string, *Fault]
	loads     table[string, *Load]

	autoscalers table[string, *Autoscaler] // by namespace/name

	objects   table[string, *Object]     // resource \0 namespace \0 name
	owned     table[string, string]      // owner's UID \0 key of objects -> key of objects
	uids      table[string, string]      // UID -> key of objects
	families  table[string, *Family]     // owner's UID \0 resource
	unsettled table[string, string]      // owner's UID \0 resource \0 stage \0 key of objects -> key of objects
	gone      table[uint64, *Object]     // deleted objects by number of deletion
	about     table[string, *KubeEvents] // by Ref.Kind \0 Ref.Key

	active      table[uint64, *Request]
	done        table[uint64, *Request]
	waiting     table[uint64, *Request]
	watchers    table[uint64, *Watcher]
	watchCaches table[string, *WatchCache]
	webhooks    table[string, *Webhook]
	aggregated  table[string, *AggregatedAPI]

	queues      table[string, *Queue]
	informers   table[string, *Informer]
	controllers table[string, *Controller]
	leases      table[string, *Lease]
	clients     table[string, *Client]    // lane \0 name
	cloud       table[string, *CloudCall] // by Service
	actors      table[string, *Actor]     // by user

	nodes table[string, *Node]
	disks table[string, *StorageDisk] // of the storage driver, by id

	unmade    table[string, *StorageDisk] // by the name that the volume would have
	goneDisks table[uint64, string]       // ids of deleted disks by number of deletion

	flows table[uint64, *Flow]

	askers  table[string, *Asker] // client \0 resource
	seconds table[int64, *Second]
	ready   Count // keys in all work queues that are ready

	kubeEvents []KubeEvent
	told       []telling // the last watch events that the controllers got
	ended      []*Watcher
	evictions  []Eviction
}

// Run says what is running.
type Run struct {
	trace.Run
	Start   trace.ID
	Ready   bool
	ReadyAt time.Duration
	Broken  *trace.Broken     // set when the run ended by a broken invariant
	Spoiled map[string]string // values at the store that cannot be decoded: why, by key, of the first 64; never changed
	Panics  int               // that were contained: each of one object, process or request
}

// Clock is the clock as the last clock.change left it. Before the first it
// runs at 1.
type Clock struct {
	Paused bool
	Speed  float64 // 0 is as fast as possible
	Why    string
	Actual float64 // virtual seconds in a real one while they are fewer than Speed says; else 0
	Behind string  // why they are: "the machine is busy"
}

// Lane is one swimlane and how much happened in it.
type Lane struct {
	gen
	Lane   trace.Lane
	Events uint64
	Last   *trace.Event
}

func (l *Lane) seal() {}

// Process is a component's process.
type Process struct {
	gen
	Name   string // lane name: "scheduler", "kubelet/node-1"
	Up     bool
	Starts int
	Reason string
	Event  trace.ID // the last start or exit
	Since  time.Duration
}

func (p *Process) seal() {}

// Command is one console command.
type Command struct {
	gen
	Line   string
	Source string
	Start  trace.ID
	At     time.Duration
	Done   bool
	End    trace.ID
	EndAt  time.Duration
	Exit   int
	Output string
}

func (c *Command) seal() {}

// Fault is something broken on purpose that has not been mended.
type Fault struct {
	gen
	trace.Fault
	Event trace.ID
	Since time.Duration
	// Mended are the links on which it is over, each as its two members in order: "a-b".
	Mended []string
}

func (f *Fault) seal() {}

// Lanes lists the swimlanes by name.
func (s *State) Lanes() []*Lane { return s.lanes.values() }

// Lane is one swimlane by its name ("kubelet/node-1"), or nil.
func (s *State) Lane(name string) *Lane { l, _ := s.lanes.get(name); return l }

// Processes lists the processes that ever started, by name; not those of API servers
// that were removed.
func (s *State) Processes() []*Process { return s.processes.values() }

// Process is a process by its lane's name, or nil.
func (s *State) Process(name string) *Process { p, _ := s.processes.get(name); return p }

// Commands lists the last console commands (at most 64), oldest first.
func (s *State) Commands() []*Command { return s.commands.values() }

// Command is the console command that began with the event, or nil.
func (s *State) Command(start trace.ID) *Command {
	c, _ := s.commands.get(order(start))
	return c
}

// Faults lists what is broken now, by target.
func (s *State) Faults() []*Fault { return s.faults.values() }

// FaultsOn lists what is broken on one target ("member/a"), links of it
// included ("link/a-b" is on member/a and member/b).
func (s *State) FaultsOn(target string) []*Fault {
	var on []*Fault
	_, name, _ := strings.Cut(target, "/")
	s.faults.all(func(_ string, f *Fault) bool {
		kind, what, _ := strings.Cut(f.Target, "/")
		if f.Target == target {
			on = append(on, f)
		} else if kind == "link" && name != "" {
			for _, end := range strings.FieldsFunc(what, func(r rune) bool { return r == '-' || r == '/' || r == ',' }) {
				if end == name {
					on = append(on, f)
					break
				}
			}
		}
		return true
	})
	return on
}

// order turns an event number into one that sorts as the events do. Outside
// events beyond the 65,535th between two control-plane events share a place,
// which no caller can meet: only control-plane events are kept by it.
func order(id trace.ID) uint64 { return id.Seq<<16 | uint64(min(id.Sub, 0xffff)) }
