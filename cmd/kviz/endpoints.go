package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"kviz/cluster"
	"kviz/cluster/serve"
	"kviz/raftstore/host"
)

// endpoints are the flags that say how other programs of this machine may
// reach a cluster.
type endpoints struct {
	port       int
	kubeconfig string
	names      []string
	etcdPort   int
	etcdPlain  bool

	listener *serve.Listener // once open
}

func (e *endpoints) register(f *pflag.FlagSet) {
	f.IntVar(&e.port, "port", 0, "port of the API server (default: any free one)")
	f.StringVar(&e.kubeconfig, "kubeconfig", "", "where to write the kubeconfig (default: the runtime directory)")
	f.StringSliceVar(&e.names, "tls-san", nil, "more `NAMES` or addresses by which clients call the API server (default: 127.0.0.1, localhost, kubernetes…); a Host header with another is refused")
	f.IntVar(&e.etcdPort, "etcd-port", noPort, "serve the store to etcdctl over TLS on this port and the next ones, one a member; 0: on any free ones (default: not)")
	f.Lookup("etcd-port").DefValue = "0" // so that help shows no number for "not"
	f.BoolVar(&e.etcdPlain, "etcd-plain", false, "with --etcd-port: without TLS, for every program of this machine")
}

// noPort is --etcd-port where it is not given.
const noPort = -1

// check refuses what cannot be.
func (e *endpoints) check() error {
	switch {
	case badName(e.names) != nil:
		return &usageError{text: fmt.Sprintf("--tls-san: %v", badName(e.names))}
	case e.port < 0 || e.port > 65535:
		return &usageError{text: fmt.Sprintf("--port %d: want 1 to 65535, or 0 for any free one", e.port)}
	case e.etcdPort < noPort || e.etcdPort > 65535:
		return &usageError{text: fmt.Sprintf("--etcd-port %d: want 1 to 65535, or 0 for any free ones", e.etcdPort)}
	case e.etcdPlain && e.etcdPort == noPort:
		return &usageError{text: "--etcd-plain says how the store is served, and goes with --etcd-port"}
	}
	return nil
}

// badName says what is wrong with the first name that cannot be one.
func badName(names []string) error {
	for _, name := range names {
		if err := serve.CheckName(name); err != nil {
			return err
		}
	}
	return nil
}

// open serves the cluster and announces it to kviz env; the function it returns
// ends both, and removes what was written for it, private keys among it.
func (e *endpoints) open(c *cluster.Cluster) (shut func() error, err error) {
	dir, err := servedDir()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	kubeconfig := e.kubeconfig
	if kubeconfig == "" {
		kubeconfig = filepath.Join(dir, "kubeconfig")
	}
	// kviz env prints it in terminals that stand elsewhere.
	if kubeconfig, err = filepath.Abs(kubeconfig); err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	l, err := c.Listen(e.port, kubeconfig, e.names...)
	if err != nil {
		return nil, err
	}
	if e.etcdPort != noPort {
		certificates := filepath.Join(dir, "etcd")
		if e.etcdPlain {
			certificates = ""
		}
		if _, err := c.ListenEtcd(e.etcdPort, certificates); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	e.listener = l
	a := &announcement{path: filepath.Join(dir, endpointsFile), now: func() served {
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
		return errors.Join(l.Close(), os.RemoveAll(dir))
	}, nil
}

// lend writes a kubeconfig beside the administrator's for each component that the cluster is without: for
// the program that takes its place. The cluster is ready.
func (e *endpoints) lend(c *cluster.Cluster, without []string) error {
	for _, name := range without {
		path := filepath.Join(filepath.Dir(e.listener.Kubeconfig), name+".conf") // kubeadm's names
		if err := c.Lend(e.listener, name, path); err != nil {
			return err
		}
	}
	return nil
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
	path string
	now  func() served

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
	path, next := a.path, a.path+".new"
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

// forget ends the announcement; the file goes with its folder.
func (a *announcement) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
}

// endpointsFile is what kviz env reads, in the folder of a kviz that serves.
const endpointsFile = "endpoints.json"

var errNotServed = errors.New("no kviz is being served; start one in another terminal: kviz serve")

// readAllServed is what all running kviz of this user serve, the oldest first.
func readAllServed() ([]served, error) {
	dir := runtimeDir()
	if err := trusted(dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("runtime directory: %w", err)
	}
	var all []served
	var began []time.Time
	for _, e := range entries {
		pid, known := ownerOf(e.Name(), "")
		if !known || !host.Alive(pid) {
			continue
		}
		path := filepath.Join(dir, e.Name(), endpointsFile)
		if err := errors.Join(trusted(filepath.Dir(path)), trusted(path)); err != nil {
			return nil, err
		}
		b, err := os.ReadFile(path)
		var s served
		if err == nil {
			err = json.Unmarshal(b, &s)
		}
		var info os.FileInfo
		if err == nil {
			info, err = os.Stat(filepath.Dir(path))
		}
		if errors.Is(err, os.ErrNotExist) {
			continue // it has just ended
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		at, _ := slices.BinarySearchFunc(began, info.ModTime(), time.Time.Compare)
		all, began = slices.Insert(all, at, s), slices.Insert(began, at, info.ModTime())
	}
	return all, nil
}

// port is that of the API server: the name of a kviz among several.
func (s served) port() string {
	u, err := url.Parse(s.APIServer)
	if err != nil {
		return ""
	}
	return u.Port()
}

// readServed is what the kviz serves that is meant: of that port; of the variables that
// kviz env has set in this terminal; or the only one.
func readServed(port string) (served, error) {
	all, err := readAllServed()
	switch {
	case err != nil:
		return served{}, err
	case len(all) == 0:
		return served{}, errNotServed
	}
	var names []string
	for _, s := range all {
		names = append(names, fmt.Sprintf("%s (%s)", s.port(), s.APIServer))
		if port != "" && s.port() == port || port == "" && (len(all) == 1 || s.Kubeconfig == os.Getenv("KUBECONFIG")) {
			return s, nil
		}
	}
	if port != "" {
		return served{}, &usageError{text: fmt.Sprintf("no kviz serves on port %s; there is %s", port, strings.Join(names, ", "))}
	}
	return served{}, fmt.Errorf("%d kviz are being served: %s; choose one by its port: eval \"$(kviz env %s)\"", len(all), strings.Join(names, ", "), all[0].port())
}
