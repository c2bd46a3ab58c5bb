package cluster

import (
	"crypto"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"kviz/cluster/control"
	"kviz/cluster/serve"
	"kviz/raftstore/etcdapi"
)

// endpoints are where other programs reach the cluster, and those that were opened for
// them.
type endpoints struct {
	etcd     *etcd
	api      *serve.Handler
	dataDir  string
	shown    atomic.Pointer[control.Endpoints]
	onChange atomic.Pointer[func()]
	members  atomic.Pointer[etcdapi.Server] // nil unless ListenEtcd was called
}

// Listen serves the API over HTTPS on loopback and writes a kubeconfig for it
// (none for an empty path). Port 0 takes a free one. names are further names and addresses by
// which clients may call it. Closing the cluster ends it.
func (p *endpoints) Listen(port int, kubeconfig string, names ...string) (*serve.Listener, error) {
	l, err := p.api.Listen(port, kubeconfig, names...)
	if err != nil {
		return nil, fmt.Errorf("serve the API: %w", err)
	}
	p.announce(func(e *control.Endpoints) { e.APIServer, e.Kubeconfig = l.URL, l.Kubeconfig })
	return l, nil
}

// ListenEtcd serves the store itself over etcd's own API on loopback, one
// address a member: the first member's is port, the others' follow; 0 takes
// free ones. certificates is the folder of those that protect it, made where
// there are none; with "" it is plain TCP, and every program of this machine
// can read and write. What is written this way reaches the cluster as in a real
// one, past the API server: watches tell of it, nothing checks it. Closing the
// cluster ends it.
func (p *endpoints) ListenEtcd(port int, certificates string) (*etcdapi.Server, error) {
	cfg := etcdapi.Config{Port: port, Metrics: p.etcd.metrics, Contain: p.etcd.contain}
	if certificates != "" {
		var err error
		if cfg.TLS, err = etcdapi.MakeTLS(certificates); err != nil {
			return nil, err
		}
	}
	s, err := etcdapi.Serve(p.etcd.store, cfg)
	if err != nil {
		return nil, err
	}
	if !p.members.CompareAndSwap(nil, s) {
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
		p.etcd.k.PostControl(func() { p.etcd.served.listeners(s.Addresses()) })
		p.announce(func(e *control.Endpoints) {
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

// Lend writes a kubeconfig for the program that takes the place of a component (see Config.Without), once there
// is an API server.
func (c *Cluster) Lend(l *serve.Listener, component, path string) error {
	if err := l.WriteIdentity(path, func(public crypto.PublicKey) (string, []byte, error) {
		return c.outsiders.credential(component, public)
	}); err != nil {
		return fmt.Errorf("a kubeconfig for the program that takes the place of the %s: %w", strings.ReplaceAll(component, "-", " "), err)
	}
	c.announce(func(e *control.Endpoints) { e.Lent = append(slices.Clone(e.Lent), path) })
	return nil
}

// announce changes what Endpoints says.
func (p *endpoints) announce(change func(*control.Endpoints)) {
	for {
		old := p.shown.Load()
		next := control.Endpoints{DataDir: p.dataDir}
		if old != nil {
			next = *old
		}
		change(&next)
		if p.shown.CompareAndSwap(old, &next) {
			break
		}
	}
	if fn := p.onChange.Load(); fn != nil {
		(*fn)()
	}
}

// OnEndpoints sets a function to call, on any goroutine, after what Endpoints says has
// changed: the store's addresses do when members come and go.
func (p *endpoints) OnEndpoints(fn func()) { p.onChange.Store(&fn) }

// closeMembers ends what ListenEtcd began.
func (p *endpoints) closeMembers() error {
	if s := p.members.Load(); s != nil {
		return s.Close()
	}
	return nil
}

// Endpoints say how other programs reach the cluster.
func (p *endpoints) Endpoints() control.Endpoints {
	if e := p.shown.Load(); e != nil {
		return *e
	}
	return control.Endpoints{DataDir: p.dataDir}
}
