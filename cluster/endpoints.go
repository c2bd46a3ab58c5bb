package cluster

import (
	"errors"
	"fmt"
	"strings"

	"kviz/cluster/apiserver/serve"
	"kviz/cluster/control"
	"kviz/raftstore/etcdapi"
)

// Listen serves the API over HTTPS on loopback and writes a kubeconfig for it
// (none for an empty path). Port 0 takes a free one. Closing the cluster ends it.
func (c *Cluster) Listen(port int, kubeconfig string) (*serve.Listener, error) {
	l, err := c.api.Listen(port, kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("serve the API: %w", err)
	}
	c.announce(func(e *control.Endpoints) { e.APIServer, e.Kubeconfig = l.URL, l.Kubeconfig })
	return l, nil
}

// ListenEtcd serves the store itself over etcd's own API on loopback, one
// address a member: the first member's is port, the others' follow; 0 takes
// free ones. It is plain TCP without authentication. What is written this way
// reaches the cluster as in a real one, past the API server: watches tell of
// it, nothing checks it. Closing the cluster ends it.
func (c *Cluster) ListenEtcd(port int) (*etcdapi.Server, error) {
	s, err := etcdapi.Serve(c.store, etcdapi.Config{Port: port})
	if err != nil {
		return nil, err
	}
	if !c.etcdFace.CompareAndSwap(nil, s) {
		return nil, errors.Join(errors.New("serve etcd's API: it is served already"), s.Close())
	}
	c.announce(func(e *control.Endpoints) { e.Etcd = strings.Join(s.Endpoints, ",") })
	return s, nil
}

// announce changes what Endpoints says.
func (c *Cluster) announce(change func(*control.Endpoints)) {
	for {
		old := c.endpoint.Load()
		next := control.Endpoints{DataDir: c.cfg.DataDir}
		if old != nil {
			next = *old
		}
		change(&next)
		if c.endpoint.CompareAndSwap(old, &next) {
			return
		}
	}
}

// closeEtcd ends what ListenEtcd began.
func (c *Cluster) closeEtcd() error {
	if s := c.etcdFace.Load(); s != nil {
		return s.Close()
	}
	return nil
}

// Endpoints say how other programs reach the cluster.
func (c *Cluster) Endpoints() control.Endpoints {
	if e := c.endpoint.Load(); e != nil {
		return *e
	}
	return control.Endpoints{DataDir: c.cfg.DataDir}
}
