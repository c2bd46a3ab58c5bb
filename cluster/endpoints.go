package cluster

import (
	"errors"
	"fmt"
	"strings"

	"kviz/cluster/control"
	"kviz/cluster/serve"
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
// free ones. certificates is the folder of those that protect it, made where
// there are none; with "" it is plain TCP, and every program of this machine
// can read and write. What is written this way reaches the cluster as in a real
// one, past the API server: watches tell of it, nothing checks it. Closing the
// cluster ends it.
func (c *Cluster) ListenEtcd(port int, certificates string) (*etcdapi.Server, error) {
	cfg := etcdapi.Config{Port: port, Metrics: c.metrics, Contain: c.k.Contain}
	if certificates != "" {
		var err error
		if cfg.TLS, err = etcdapi.MakeTLS(certificates); err != nil {
			return nil, err
		}
	}
	s, err := etcdapi.Serve(c.store, cfg)
	if err != nil {
		return nil, err
	}
	if !c.etcdServer.CompareAndSwap(nil, s) {
		return nil, errors.Join(errors.New("serve etcd's API: it is served already"), s.Close())
	}
	follow := func() {
		var at []string
		for _, a := range s.Addresses() {
			if cfg.TLS != nil {
				at = append(at, a.URL)
			} else {
				at = append(at, a.Addr)
			}
		}
		c.k.PostControl(c.served.listeners)
		c.announce(func(e *control.Endpoints) {
			e.Etcd = strings.Join(at, ",")
			if cfg.TLS != nil {
				e.EtcdCA, e.EtcdCert, e.EtcdKey = cfg.TLS.CA, cfg.TLS.Cert, cfg.TLS.Key
			}
		})
	}
	follow()
	s.OnAddresses(follow)
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
			break
		}
	}
	if fn := c.onEndpoints.Load(); fn != nil {
		(*fn)()
	}
}

// OnEndpoints sets who is told, on any goroutine, after what Endpoints says has
// changed: the store's addresses do when members come and go.
func (c *Cluster) OnEndpoints(fn func()) { c.onEndpoints.Store(&fn) }

// closeEtcd ends what ListenEtcd began.
func (c *Cluster) closeEtcd() error {
	if s := c.etcdServer.Load(); s != nil {
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
