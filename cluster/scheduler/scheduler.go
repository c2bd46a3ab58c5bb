// Package scheduler is kube-scheduler: it gives each new pod a node.
//
// One task takes the pods from the active queue, one at a time, and runs the
// scheduling cycle: filter out the nodes that cannot run the pod, score the
// rest, reserve the best. Another task per pod then runs the binding cycle,
// which tells the API server. A pod that fits nowhere waits in the unschedulable
// pool until something happens in the cluster that could help it.
package scheduler

import (
	"time"

	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// Config says how the scheduler works. The zero value is upstream's defaults.
type Config struct {
	// Identity names this copy in the Lease kube-scheduler; default the
	// process's lane.
	Identity string
	// Name is the schedulerName of the pods it schedules; default
	// "default-scheduler".
	Name string
	// CycleTime is the virtual time one scheduling cycle takes; default 1 ms.
	CycleTime time.Duration
	// TraceNodes is for how many nodes a cycle emits sched.filter and
	// sched.score; default 64, negative none.
	TraceNodes int
	// MostAllocated makes NodeResourcesFit prefer full nodes to empty ones.
	MostAllocated bool
	// PercentageOfNodesToScore is how many nodes to find before scoring, from
	// 100 nodes on; default (0) is 50 % less one for each 125 nodes, 5 % at
	// least.
	PercentageOfNodesToScore int32
	// NoElection starts scheduling without winning the Lease first.
	NoElection bool
}

// Scheduler is a running scheduler.
type Scheduler struct{}

// Start starts the scheduler's tasks in process p; they end with it. When the
// Lease is lost, p is killed, as the real one exits.
func Start(p *sim.Process, c client.Interface, cfg Config) *Scheduler { return &Scheduler{} }
