package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/pflag"

	"kviz/cluster"
	"kviz/raftstore/host"
)

// endpoints are the flags that say how other programs of this machine may
// reach a cluster.
type endpoints struct {
	port       int
	kubeconfig string
	etcdPort   int
	etcdPlain  bool
}

func (e *endpoints) register(f *pflag.FlagSet) {
	f.IntVar(&e.port, "port", 0, "port of the API server (default: any free one)")
	f.StringVar(&e.kubeconfig, "kubeconfig", "", "where to write the kubeconfig (default: the runtime directory)")
	f.IntVar(&e.etcdPort, "etcd-port", 0, "serve the store to etcdctl over TLS on this port and the next ones, one a member (default: not)")
	f.BoolVar(&e.etcdPlain, "etcd-plain", false, "with --etcd-port: without TLS, for every program of this machine")
}

// open serves the cluster and announces it to kviz env; the function it returns
// ends both.
func (e *endpoints) open(c *cluster.Cluster) (shut func() error, err error) {
	kubeconfig := e.kubeconfig
	if kubeconfig == "" {
		kubeconfig = filepath.Join(runtimeDir(), "kubeconfig")
	}
	// kviz env prints it in terminals that stand elsewhere.
	if kubeconfig, err = filepath.Abs(kubeconfig); err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	if err := os.MkdirAll(runtimeDir(), 0o700); err != nil {
		return nil, fmt.Errorf("runtime directory: %w", err)
	}
	l, err := c.Listen(e.port, kubeconfig)
	if err != nil {
		return nil, err
	}
	if e.etcdPort != 0 {
		certificates := filepath.Join(runtimeDir(), "etcd")
		if e.etcdPlain {
			certificates = ""
		}
		if _, err := c.ListenEtcd(e.etcdPort, certificates); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	a := &announcement{now: func() served {
		at := c.Endpoints()
		return served{
			PID: os.Getpid(), APIServer: l.URL, Kubeconfig: l.Kubeconfig,
			Etcd: at.Etcd, EtcdCA: at.EtcdCA, EtcdCert: at.EtcdCert, EtcdKey: at.EtcdKey,
		}
	}}
	c.OnEndpoints(a.renew)
	if err := a.write(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return func() error {
		a.forget()
		return l.Close()
	}, nil
}

// served is what a serving kviz leaves in its runtime directory.
type served struct {
	PID        int
	APIServer  string
	Kubeconfig string
	Etcd       string `json:",omitempty"`
	EtcdCA     string `json:",omitempty"`
	EtcdCert   string `json:",omitempty"`
	EtcdKey    string `json:",omitempty"`
}

// etcdctl are the variables by which etcdctl finds the store; none where it is
// not served.
func (s served) etcdctl() [][2]string {
	if s.Etcd == "" {
		return nil
	}
	vars := [][2]string{{"ETCDCTL_ENDPOINTS", s.Etcd}}
	if s.EtcdCA != "" {
		vars = append(vars, [2]string{"ETCDCTL_CACERT", s.EtcdCA}, [2]string{"ETCDCTL_CERT", s.EtcdCert}, [2]string{"ETCDCTL_KEY", s.EtcdKey})
	}
	return vars
}

// announcement keeps what kviz env reads true for as long as the cluster is
// served: the store's addresses change when members come and go.
type announcement struct {
	now func() served

	mu    sync.Mutex
	last  served
	ended bool
}

// write announces what is served now, if that is news. The file is replaced as a
// whole: who reads it finds the old lines or the new ones.
func (a *announcement) write() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.now()
	if a.ended || s == a.last {
		return nil
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	path := endpointsFile()
	next := fmt.Sprintf("%s.%d", path, s.PID)
	if err := os.WriteFile(next, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("runtime directory: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		return errors.Join(fmt.Errorf("runtime directory: %w", err), os.Remove(next))
	}
	a.last = s
	return nil
}

// renew announces a change. One that cannot be written leaves the lines as they
// were; the explorer's store pane and kviz endpoints have the new ones.
func (a *announcement) renew() { _ = a.write() }

// forget ends the announcement.
func (a *announcement) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	if now, err := readServed(); err == nil && now.PID == a.last.PID {
		os.Remove(endpointsFile())
	}
}

func endpointsFile() string { return filepath.Join(runtimeDir(), "endpoints.json") }

var errNotServed = errors.New("no kviz is being served; start one in another terminal: kviz serve")

// readServed is what the running kviz serves.
func readServed() (served, error) {
	var s served
	b, err := os.ReadFile(endpointsFile())
	if errors.Is(err, os.ErrNotExist) {
		return s, errNotServed
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("%s: %w", endpointsFile(), err)
	}
	if !host.Alive(s.PID) {
		return s, errNotServed
	}
	return s, nil
}
