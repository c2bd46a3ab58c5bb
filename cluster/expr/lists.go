package expr

import (
	"reflect"

	"kviz/cluster/view"
)

func list[T, E any](of func(T) []E) extra {
	return extra{func(x any) any { return of(x.(T)) }, reflect.TypeFor[[]E]()}
}

// lists are what methods of the state's types give. They are written out: Go's
// linker keeps every exported method of every type in a program that looks for
// methods when it runs, a fifth of this one.
var lists = map[reflect.Type]map[string]extra{
	reflect.TypeFor[*view.Store](): {
		"commits":       list((*view.Store).Commits),
		"endedMessages": list((*view.Store).EndedMessages),
		"endpoints":     list((*view.Store).Endpoints),
		"inFlight":      list((*view.Store).InFlight),
		"latencies":     list((*view.Store).Latencies),
		"leases":        list((*view.Store).Leases),
		"question":      list((*view.Store).Question),
		"watches":       list((*view.Store).Watches),
	},
	reflect.TypeFor[*view.Member](): {
		"disks": list((*view.Member).Disks),
		"log":   list((*view.Member).Log),
	},
	reflect.TypeFor[*view.Key](): {
		"history": list((*view.Key).History),
	},
	reflect.TypeFor[*view.Latency](): {
		"series": list((*view.Latency).Series),
	},
	reflect.TypeFor[*view.Informer](): {
		"stale": list((*view.Informer).Stale),
	},
	reflect.TypeFor[*view.Watcher](): {
		"held": list((*view.Watcher).Held),
	},
	reflect.TypeFor[*view.Queue](): {
		"delayedKeys": list((*view.Queue).DelayedKeys),
		"depths":      list((*view.Queue).Depths),
		"inProcess":   list((*view.Queue).InProcess),
		"sources":     list((*view.Queue).Sources),
		"waiting":     list((*view.Queue).Waiting),
	},
	reflect.TypeFor[*view.Controller](): {
		"current": list((*view.Controller).Current),
		"recent":  list((*view.Controller).Recent),
	},
	reflect.TypeFor[*view.Scheduler](): {
		"assigned":     list((*view.Scheduler).Assigned),
		"others":       list((*view.Scheduler).Others),
		"recentCycles": list((*view.Scheduler).RecentCycles),
	},
	reflect.TypeFor[*view.SchedPod](): {
		"rejected": list((*view.SchedPod).Rejected),
	},
	reflect.TypeFor[*view.Request](): {
		"spans": list((*view.Request).Spans),
	},
	reflect.TypeFor[*view.Cycle](): {
		"changed":   list((*view.Cycle).Changed),
		"filters":   list((*view.Cycle).Filters),
		"nodeNames": list((*view.Cycle).NodeNames),
		"points":    list((*view.Cycle).Points),
		"scores":    list((*view.Cycle).Scores),
		"spans":     list((*view.Cycle).Spans),
	},
	reflect.TypeFor[*view.Node](): {
		"lastDiff": list((*view.Node).LastDiff),
		"tables":   list((*view.Node).Tables),
	},
	reflect.TypeFor[*view.NodePod](): {
		"probes": list((*view.NodePod).Probes),
		"steps":  list((*view.NodePod).Steps),
	},
	reflect.TypeFor[*view.JobRun](): {
		"retried": list((*view.JobRun).Retried),
	},
	reflect.TypeFor[*view.Autoscaler](): {
		"sums": list((*view.Autoscaler).Sums),
	},
	reflect.TypeFor[*view.Flow](): {
		"hops": list((*view.Flow).Hops),
	},
}
