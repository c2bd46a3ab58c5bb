package proof

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"kviz/assets"
	"kviz/cluster/apiserver"
	"kviz/cluster/serve"
	"kviz/cluster/sim"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
	"kviz/raftstore"
)

// startKviz runs kviz' API server alone, on the bare store and with its HTTP
// edge on loopback, in virtual time that runs as fast as it can. stop ends it.
func startKviz(dir string) (s *side, stop func() error, err error) {
	kernel := sim.New(sim.Config{Seed: 1, Sink: trace.NewStream(1000)})
	kernel.SetDemand(true)
	store := raftstore.OpenBare()
	server := apiserver.New(kernel.NewProcess(trace.Lane{Component: trace.CompAPIServer}), storage.New(kernel, store),
		apiserver.Config{CompactionInterval: -1}) // virtual minutes pass between two requests, in which kube-apiserver compacts nothing
	h := serve.New(serve.Config{Kernel: kernel, API: func() serve.API { return server }, Documents: assets.Documents()})
	ready := make(chan struct{})
	kernel.AddDemand(1)
	kernel.NewProcess(trace.Lane{Component: trace.CompSimulation}).Go("boot", func(t *sim.Task) {
		server.WaitReady(t)
		t.SleepUntil(kernel.Epoch().Add(10 * time.Second))
		kernel.AddDemand(-1)
		close(ready)
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- kernel.Run(ctx) }() // the kernel's own goroutine, as in a cluster; the test waits for its end
	end := func() error {
		h.Close()
		cancel()
		return errors.Join(<-ended, store.Close())
	}
	<-ready
	path := filepath.Join(dir, "kubeconfig")
	l, err := h.Listen(0, path)
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	stop = func() error { return errors.Join(l.Close(), end()) }
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(b)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", path, err), stop())
	}
	s = newSide("kviz", l.URL, config.BearerToken)
	s.waits = func(on bool) {
		n := -1
		if on {
			n = 1
		}
		_ = kernel.Do(func() { kernel.AddDemand(n) }) // it has stopped: the request says so
	}
	return s, stop, nil
}
