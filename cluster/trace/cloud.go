package trace

import "time"

// CloudCalled is the kind of the calls to the cloud's API.
var CloudCalled = define[CloudCall]("cloud.call", GrainStage,
	"The cloud answered cloud-controller-manager: it made, changed or deleted a load balancer, or could not.",
	"The address, which becomes the Service's EXTERNAL-IP.",
	"k8s.io/cloud-provider cloud.go LoadBalancer; simulated")

// CloudCall is one call to the cloud's API having returned.
type CloudCall struct {
	Call     string // GetLoadBalancer, EnsureLoadBalancer, UpdateLoadBalancer, EnsureLoadBalancerDeleted
	Service  string `json:",omitempty"` // namespace/name
	Balancer string `json:",omitempty"` // its name in the cloud
	Result   string `json:",omitempty"`
	Error    string `json:",omitempty"`
	Took     time.Duration
}
