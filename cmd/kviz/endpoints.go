package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/pflag"

	"kviz/cluster"
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
	at := c.Endpoints()
	forget, err := announce(served{
		PID: os.Getpid(), APIServer: l.URL, Kubeconfig: l.Kubeconfig,
		Etcd: at.Etcd, EtcdCA: at.EtcdCA, EtcdCert: at.EtcdCert, EtcdKey: at.EtcdKey,
	})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return func() error {
		forget()
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

// announce writes the endpoints for kviz env; the function it returns removes
// them.
func announce(s served) (forget func(), err error) {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, err
	}
	path := endpointsFile()
	if err := os.WriteFile(path, append(b, '\n'), 0o600); err != nil {
		return nil, fmt.Errorf("runtime directory: %w", err)
	}
	return func() {
		if now, err := readServed(); err == nil && now.PID == s.PID {
			os.Remove(path)
		}
	}, nil
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
	if syscall.Kill(s.PID, 0) != nil {
		return s, errNotServed
	}
	return s, nil
}
