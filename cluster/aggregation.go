package cluster

import (
	"net"
	"strconv"
	"time"

	"kviz/cluster/network"
	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// dialPod opens a connection from an API server's machine to a pod, for aggregated
// APIs and proxies. The machine has no kube-proxy, so it goes to an endpoint and not to a
// Service's address (kube-apiserver --enable-aggregator-routing).
func dialPod(t *sim.Task, n *network.Network, from, address string, limit time.Duration) (remote.Connection, trace.ID, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, trace.ID{}, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, trace.ID{}, err
	}
	res := n.DialIn(t, from, network.Request{Host: host, Port: number, Limit: limit})
	switch {
	case res.Outcome == network.TimedOut:
		return nil, res.ID, &remote.DialError{TimedOut: true}
	case res.Outcome != network.Answered:
		return nil, res.ID, &remote.DialError{Reason: res.Outcome}
	}
	return res.Answer, res.ID, nil
}
