package trace

import "time"

// Autoscale is the sum of one run of the HorizontalPodAutoscaler controller: from what the metrics
// say to how many replicas the target is to have. An [Action] of that controller has it, also one
// that changes nothing.
//
// The steps, in their order: each metric proposes a number, the highest is Proposed;
// recommendations of the stabilization window make Stabilized of it; what the policies of
// the behavior and the bounds let through is Desired.
type Autoscale struct {
	Target  Ref   // of spec.scaleTargetRef
	Current int32 // spec.replicas of its scale
	Metrics []AutoscaleMetric

	// Computed is false where the metrics were not asked, or none gave a number; of what
	// follows only Min, Max and Desired count then.
	Computed bool
	Proposed int32
	By       string `json:",omitempty"` // the metric that proposed most, as Events name it
	// Stabilized differs from Proposed because of an older recommendation, of the last
	// Window.
	Stabilized int32
	Window     time.Duration `json:",omitempty"`
	// Allowed is as far as policies and bounds let the target go in this direction; Policy
	// is true where it is a policy that holds it there, and not a bound.
	Allowed int32
	Policy  bool `json:",omitempty"`

	Min, Max int32
	Desired  int32
	// Limit is the reason of the condition ScalingLimited: DesiredWithinRange, ScaleUpLimit,
	// ScaleDownLimit, TooManyReplicas or TooFewReplicas; "" where nothing was computed.
	Limit   string `json:",omitempty"`
	Limited bool   `json:",omitempty"` // that condition is True
	Rescale string `json:",omitempty"` // the reason in the Event SuccessfulRescale; "" where nothing changes
}

// AutoscaleMetric is one metric of a HorizontalPodAutoscaler, and what it proposes.
type AutoscaleMetric struct {
	Type            string // Resource, ContainerResource, Pods, Object, External
	Name            string // "cpu", "cpu of container app", "requests of Ingress/main"
	Current, Target string // as a person writes them: "90%" and "60%", "2500m" and "1"
	// Pods by how they count: Ready have a value that counts, Unready count as 0 where the
	// target is to grow, Missing have no value and count as 0 where it is to grow, and as all
	// that they request, or as the target, where it is to shrink; Ignored are about to go, or failed.
	Ready, Unready, Missing, Ignored int
	Ratio                            float64 // of current to target, by the pods with values
	Filled                           float64 // with the others counted, too; 0 where none is
	// Down and Up are how far from 1 a ratio may be without any change.
	Down, Up float64
	// By is the number that the ratio is multiplied with; 0 where it is not.
	By       int
	Proposed int32
	Why      string // in words: "4 ready pods use 90% of what they request, the target is 60%: 4 × 90 / 60 = 6"
	Error    string `json:",omitempty"` // why there is no proposal
}
