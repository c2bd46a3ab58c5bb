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
		"The number of requests that the API server serves at once was changed, and shared out among the priority levels.",
		"Each level's seats: a level of few seats has its requests queue while others go on.",
		"apiserver pkg/util/flowcontrol/apf_controller.go finishQueueSetReconfigsLocked")
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
	InUse   int    // of them
	Waiting int    // requests in all queues of the level, this one included while it waits
	Ahead   int    // requests in its own queue that came before it
	Waited  time.Duration
	Outcome string `json:",omitempty"` // "" while it waits; then served, time-out, queue-full, concurrency-limit
}

// FlowLimits are the seats of each priority level.
type FlowLimits struct {
	Total  int
	Levels []FlowLimit
}

// FlowLimit is one level's part of the seats.
type FlowLimit struct {
	Level  string
	Limit  int
	Queues int `json:",omitempty"`
}
