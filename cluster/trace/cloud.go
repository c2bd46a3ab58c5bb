package trace

import "time"

// CloudCalled is the kind of the calls to the cloud's API.
var CloudCalled = define[CloudCall]("cloud.call", GrainStage,
	"The cloud answered cloud-controller-manager: it made, changed or deleted a load balancer or a route, said something of an instance, or could not.",
	"The address of a load balancer, which becomes the Service's EXTERNAL-IP; whether an instance exists, and runs.",
	"k8s.io/cloud-provider cloud.go LoadBalancer, InstancesV2, Routes; simulated")

// CloudCall is one call to the cloud's API having returned.
type CloudCall struct {
	Call     string // GetLoadBalancer, EnsureLoadBalancer, UpdateLoadBalancer, EnsureLoadBalancerDeleted, InstanceMetadata …
	Service  string `json:",omitempty"` // namespace/name, of a load balancer
	Balancer string `json:",omitempty"` // its name in the cloud
	Node     string `json:",omitempty"` // of an instance or a route
	Route    string `json:",omitempty"` // the addresses that it leads to
	Result   string `json:",omitempty"`
	Error    string `json:",omitempty"`
	Took     time.Duration
}
