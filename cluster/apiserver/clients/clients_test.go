// Package clients holds that programs which know nothing of kviz use its API server
// as any other: helm, by its own library, and a kubectl that was built by itself. It
// is a module of its own, so that helm is no part of kviz.
//
// Each test starts a whole cluster behind HTTPS on loopback and a kubeconfig;
// everything goes through those two.
package clients

import (
	"context"
	"path/filepath"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// served is a cluster that programs outside can use.
type served struct {
	kubeconfig string
	api        kubernetes.Interface
}

func serve(t *testing.T) *served {
	t.Helper()
	steady.RealTime(t, "its clients are programs that wait by the machine's clock")
	ctx, cancel := context.WithTimeout(t.Context(), steady.Patience(t))
	t.Cleanup(cancel)
	// A hundred times as fast as the machine's clock: what takes a cluster half a
	// minute is over before a client that asks every second has asked twice.
	c, err := cluster.Boot(ctx, cluster.Config{Seed: 1, Bare: true, Speed: 100})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("the run ended badly: %v", err)
		}
	})
	if err := c.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	l, err := c.Listen(0, filepath.Join(t.TempDir(), "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	cfg, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	api, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &served{l.Kubeconfig, api}
}
