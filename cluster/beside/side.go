package beside

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kviz/cluster"
)

// Side is a cluster of kviz and its administrator's client. It has components of kviz' own, or one of Kubernetes'
// programs in the place of one.
type Side struct {
	Name   string
	C      *cluster.Cluster
	Client *rest.Config // the administrator's
	API    kubernetes.Interface
	Lent   map[string]string // the kubeconfig for the program that takes a component's place, by component
}

// Serve boots a cluster that programs reach, until the test ends.
func Serve(t testing.TB, name string, shape cluster.Config) *Side {
	t.Helper()
	c, err := cluster.Boot(t.Context(), shape)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("%s: the run ended badly: %v", name, err)
		}
	})
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l, err := c.Listen(0, filepath.Join(dir, "admin.conf"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &Side{Name: name, C: c, Lent: map[string]string{}}
	for _, component := range shape.Without {
		s.Lent[component] = filepath.Join(dir, component+".conf")
		if err := c.Lend(l, component, s.Lent[component]); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	cfg.QPS, cfg.WarningHandler = -1, rest.NoWarnings{}
	s.Client = cfg
	if s.API, err = kubernetes.NewForConfig(cfg); err != nil {
		t.Fatal(err)
	}
	return s
}
