package trace

import "time"

// Kinds of API priority and fairness. A request that finds a seat at once has its
// stage "priority-and-fairness" only.
var (
	FlowQueued = define[FlowWait]("api.queue", GrainStage,
		"A request found no free seat at its priority level and waits in one of the level's queues.",
		"The flow and its queue: requests of other flows wait in other queues, and each queue gets its turn.",
		"apiserver pkg/util/flowcontrol/fairqueuing/queueset/queueset.go StartRequest")
	FlowConfig = define[FlowLimits]("api.concurrency", GrainStage,
		"The requests that the API server serves at once were shared out again among the priority levels: somebody has changed their number or the levels, or levels lend one another seats.",
		"Each level's seats: a level of few seats has its requests queue while others go on; and what it has above or below its share is borrowed or lent.",
		"apiserver pkg/util/flowcontrol/apf_controller.go updateBorrowingLocked")
)

// FlowWait is a request that found no free seat, and its priority level as it is then.
type FlowWait struct {
	Request uint64
	Schema  string // FlowSchema
	Level   string // PriorityLevelConfiguration
	Flow    string // what tells the schema's flows apart: a user or a namespace
	Queue   int    // -1 where it was not let into one
	Seats   int    // it takes
	Limit   int    // seats of the level
	Nominal int    `json:",omitempty"` // seats by its share: what it has less it lends, what it has more it borrows
	InUse   int    // of them
	Waiting int    // requests in all queues of the level, this one included while it waits
	Ahead   int    // requests in its own queue that came before it
	Waited  time.Duration
	Outcome string `json:",omitempty"` // "" while it waits; then served, time-out, queue-full, concurrency-limit
}

// FlowLimits are the seats of each priority level.
type FlowLimits struct {
	Total  int
	Why    string `json:",omitempty"` // they have changed
	Levels []FlowLimit
}

// Why the seats of the levels have changed.
const (
	FlowByPerson = ""        // a person set how many there are
	FlowByObject = "objects" // FlowSchemas or PriorityLevelConfigurations were changed
	FlowByDemand = "demand"  // levels lend one another what they do not want themselves
)

// FlowLimit is one level's part of the seats.
type FlowLimit struct {
	Level   string
	Limit   int // seats it has now
	Queues  int `json:",omitempty"`
	Nominal int `json:",omitempty"` // its part by its share
	Min     int `json:",omitempty"` // what it keeps in any case
	Max     int `json:",omitempty"` // what it may have with borrowed ones
	Wanted  int `json:",omitempty"` // the most seats that were wanted at once in the last ten seconds
}

// Borrowed is how many seats the level has of others, or, below zero, how many
// others may have of it.
func (l *FlowLimit) Borrowed() int {
	if l.Nominal == 0 { // of a recording that did not know it
		return 0
	}
	return l.Limit - l.Nominal
}
