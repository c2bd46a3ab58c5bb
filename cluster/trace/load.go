package trace

// LoadSet is load that a person has set.
var LoadSet = define[Load]("load.set", GrainDecision,
	"A person set how much a pod or a workload has to do, or what a metric says.",
	"What kubectl top shows from the next 15 seconds on, and what an autoscaler makes of it.",
	"kviz load")

// Load is what a person has set of one target.
type Load struct {
	// Target is a pod, a workload, or an object that a metric is about. It has a namespace only where
	// it is that of an external metric, and nothing where all that is set is off.
	Target    Ref
	Container string `json:",omitempty"` // of the pods; "": all of them together
	Each      bool   `json:",omitempty"` // every pod of the workload has it; else they share it
	Off       bool   `json:",omitempty"` // all that is set of the target is off
	Figures   []LoadFigure
}

// LoadFigure is one of its figures.
type LoadFigure struct {
	What   string // cpu, memory, metric, external
	Name   string `json:",omitempty"` // of a metric
	Labels string `json:",omitempty"` // of an external metric's series
	Curve  string // over time (cluster/load); "" takes it away
}
