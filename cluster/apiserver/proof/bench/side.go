package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kviz/cluster/apiserver/proof"
)

// side is one API server that serves, in processes of its own.
type side struct {
	name string
	api  kubernetes.Interface
	url  string
	// token is the administrator's.
	token string
	pids  []int // the API server's first
	stop  func() error
}

// start starts a server with its data in a folder and waits until it is ready.
type start func(ctx context.Context, dir string) (*side, error)

// servers are what this program is when it is started as one of the two processes
// of the real thing: it says where it serves, and ends with its input.
var servers = map[string]func(arg string) error{"etcd": serveEtcd, "kube-apiserver": serveUpstream}

func upstream(self string) start {
	return func(ctx context.Context, dir string) (*side, error) {
		etcd, err := spawn(ctx, self, "etcd", dir)
		if err != nil {
			return nil, err
		}
		server, err := spawn(ctx, self, "kube-apiserver", dir+","+etcd.says)
		if err != nil {
			return nil, errors.Join(err, etcd.stop())
		}
		s := &side{name: "kube-apiserver", pids: []int{server.pid, etcd.pid}}
		s.stop = func() error { return errors.Join(server.stop(), etcd.stop()) }
		config := &rest.Config{Host: server.says, BearerToken: proof.UpstreamToken}
		config.Insecure = true // its certificate was made a moment ago
		return s.ready(ctx, config)
	}
}

func kviz(o options, store string) start {
	return func(ctx context.Context, dir string) (*side, error) {
		c := exec.CommandContext(ctx, o.kviz, "serve", "--store", store, "--speed", o.speed, "--nodes", "0", "--kubeconfig", filepath.Join(dir, "kubeconfig"))
		// Where it announces itself, and keeps the store's data.
		c.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir, "TMPDIR="+dir)
		c.Stderr = os.Stderr
		out, err := c.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := c.Start(); err != nil {
			return nil, err
		}
		stop := func() error {
			if err := c.Process.Signal(syscall.SIGTERM); err != nil {
				return err
			}
			_, _ = io.Copy(io.Discard, out) // until it ends
			_ = c.Wait()                    // it says by its code that it was told to end
			return nil
		}
		// It says where it serves once its control plane is ready.
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			return nil, errors.Join(err, stop())
		}
		s := &side{name: "kviz, " + store, pids: []int{c.Process.Pid}, stop: stop}
		config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig"))
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		return s.ready(ctx, config)
	}
}

// ready waits until the server says so to its client, which sends as much as it is asked to.
func (s *side) ready(ctx context.Context, config *rest.Config) (*side, error) {
	config.QPS, config.Timeout = -1, 0
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	s.api, s.url, s.token = api, config.Host, config.BearerToken
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		code := 0
		err := api.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).StatusCode(&code).Error()
		if err == nil && code == http.StatusOK {
			return s, nil
		}
		if time.Now().After(end) {
			return nil, errors.Join(fmt.Errorf("%s is not ready after a minute: %w", s.name, err), s.stop())
		}
	}
}

// process is this program as a server.
type process struct {
	pid  int
	says string
	stop func() error
}

func spawn(ctx context.Context, self, what, arg string) (*process, error) {
	c := exec.CommandContext(ctx, self, what, arg)
	log, err := os.Create(filepath.Join(strings.Split(arg, ",")[0], what+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own
	c.Stderr = log
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	stop := func() error { return errors.Join(in.Close(), c.Wait()) }
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s did not say where it serves: %w", what, err), stop())
	}
	return &process{c.Process.Pid, strings.TrimSpace(line), stop}, nil
}

// untilInputEnds says where a server is and returns when it is to end.
func untilInputEnds(where string) error {
	if _, err := fmt.Println(where); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// serveEtcd is one member of etcd, with its default settings.
func serveEtcd(dir string) error {
	cfg := embed.NewConfig()
	cfg.Dir = filepath.Join(dir, "etcd")
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	var at []url.URL
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close()
		at = append(at, url.URL{Scheme: "http", Host: l.Addr().String()})
		if err := l.Close(); err != nil { // etcd opens it again
			return err
		}
	}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = at[:1], at[:1]
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = at[1:], at[1:]
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	defer e.Close()
	select {
	case <-e.Server.ReadyNotify():
	case err := <-e.Err():
		return err
	}
	return untilInputEnds(at[0].Host)
}

// serveUpstream is the real kube-apiserver; arg is its folder and etcd's address.
func serveUpstream(arg string) error {
	dir, etcd, _ := strings.Cut(arg, ",")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	run, at, err := proof.Upstream(ctx, dir, etcd)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- run() }() // it listens until ctx ends
	if err := untilInputEnds(at); err != nil {
		return err
	}
	cancel()
	select {
	case err := <-ended:
		return err
	case <-time.After(5 * time.Second): // what it still serves is of no interest
		return nil
	}
}

// numbered is the name of an object.
func numbered(i int) string { return "one-" + strconv.Itoa(i) }
