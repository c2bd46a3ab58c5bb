package framework

import (
	"time"

	"kviz/cluster/trace"
)

// QueuedPodInfo is a pod in one of the scheduler's queues, or on its way
// through a cycle.
//
// Mirrors pkg/scheduler/framework/types.go QueuedPodInfo.
type QueuedPodInfo struct {
	*PodInfo
	// Timestamp is when the pod came into the queues, or came back.
	Timestamp time.Time
	Attempts  int
	// UnschedulableCount and ConsecutiveErrors make the back-off longer.
	UnschedulableCount int
	ConsecutiveErrors  int
	// BackoffExpiration is when the back-off ends; zero when not computed.
	BackoffExpiration time.Time
	// UnschedulablePlugins rejected the last attempt: only events they are
	// interested in bring the pod back. Empty after an error.
	UnschedulablePlugins map[string]bool
	// Stayed are the events that left the pod in the unschedulable pool, as far as the trace
	// has been told of them since the pod came there.
	Stayed map[string]bool
	// Gate is the PreEnqueue plugin that keeps the pod out, "" if none.
	Gate string

	// Cause is the last event of the trace that moved the pod.
	Cause trace.ID
	// Serial breaks ties between pods of the same instant.
	Serial uint64
	// Index is the pod's place in a heap; -1 outside.
	Index int
}
