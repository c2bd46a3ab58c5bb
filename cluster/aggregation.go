package cluster

import (
	"errors"
	"net"
	"strconv"
	"time"

	"kviz/cluster/apiserver/aggregator"
	"kviz/cluster/metricsserver"
	"kviz/cluster/network"
	"kviz/cluster/operator"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// dial opens a connection from an API server's machine to a pod, for aggregated
// APIs. The machine has no kube-proxy, so it goes to an endpoint and not to a
// Service's address (kube-apiserver --enable-aggregator-routing).
func (c *Cluster) dial(t *sim.Task, from, address string, limit time.Duration) (aggregator.Program, trace.ID, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, trace.ID{}, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, trace.ID{}, err
	}
	res := c.network.DialIn(t, from, network.Request{Host: host, Port: number, Limit: limit})
	switch {
	case res.Outcome == network.TimedOut:
		return nil, res.ID, &aggregator.DialError{TimedOut: true}
	case res.Outcome != network.Answered:
		return nil, res.ID, &aggregator.DialError{Reason: res.Outcome}
	case res.Answer.Program == nil:
		return nil, res.ID, nil
	}
	return res.Answer.Program, res.ID, nil
}

// addPrograms says which images hold more than a port that answers.
func (c *Cluster) addPrograms(r *runtime.Runtime) {
	r.SetProgram(metricsserver.Image, func(in runtime.Instance) runtime.Program { return metricsserver.Start(in, c.scrape) })
	r.SetProgram(operator.Image, operator.Start)
}

// scrape is what a kubelet tells of what is used on its node, to a pod on another.
func (c *Cluster) scrape(from, name string) (metricsserver.Sample, error) {
	n := c.node(name)
	if n == nil || !c.network.Linked(from, name) {
		return metricsserver.Sample{}, errors.New("i/o timeout")
	}
	if !n.kubelet.up() {
		return metricsserver.Sample{}, errors.New("connect: " + network.Refused)
	}
	pods, cpu, memory := n.runtime.Usage()
	return metricsserver.Sample{CPU: cpu, Memory: memory, Pods: pods}, nil
}
