package trace

// The load balancer before several API servers.
var (
	BalancerServer = define[BalancedServer]("balancer.server", GrainStage,
		"The load balancer before the API servers found one of them up or down.",
		"Which servers get new connections from now on.",
		"no part of Kubernetes: kubeadm init --control-plane-endpoint names a load balancer; haproxy check inter 2s fall 3 rise 2")
	BalancerConnected = define[Balanced]("balancer.connect", GrainStage,
		"The load balancer gave a client's new connection to an API server.",
		"All that this client asks and watches goes to this server, as long as the connection lives.",
		"no part of Kubernetes: haproxy mode tcp, balance roundrobin")
)

// BalancedServer is a server behind the balancer.
type BalancedServer struct {
	Server  string // its process: "apiserver", "apiserver/b"
	Address string
	Up      bool
	Reason  string
	Removed bool `json:",omitempty"` // it is behind the balancer no more, and there is no such server any more
}

// Balanced is a client's connection.
type Balanced struct {
	Client string
	Server string
}
