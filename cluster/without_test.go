package cluster_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/raftstore/steady"
)

// A cluster without a scheduler: what is said of it, and that a person can bind a pod. What is typed is
// testdata/without.txt.
func TestWithoutScheduler(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true, Without: []string{"scheduler"}})
		golden(t, "without", typed(t, c, "testdata/without.txt"))
	})
}

// Without the controller manager nobody works, and that is said; the nodes keep their taint.
func TestWithoutControllerManager(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true, Nodes: 1, Without: []string{"controller-manager", "scheduler"}})
		golden(t, "without-all", typed(t, c, "testdata/without-all.txt"))
	})
}

func TestWhatCannotBeLeftOut(t *testing.T) {
	_, err := cluster.Boot(t.Context(), cluster.Config{Bare: true, Without: []string{"kubelet"}})
	if err == nil || !strings.Contains(err.Error(), `"kubelet" is nothing that kviz can leave out; it can leave out cloud-controller-manager, controller-manager and scheduler`) {
		t.Error(err)
	}
}

// A program that takes the scheduler's place has a certificate of its own, with the scheduler's rights and no
// more. When the run is run again, the certificate is accepted as it was, although the key was never in the run.
func TestAProgramTakesTheSchedulersPlace(t *testing.T) {
	steady.RealTime(t, "a program outside reaches the cluster over sockets")
	c, err := cluster.Boot(t.Context(), cluster.Config{Seed: 23, Bare: true, Speed: 30, Without: []string{"scheduler"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l, err := c.Listen(0, filepath.Join(dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "scheduler.conf")
	if err := c.Lend(l, "scheduler", path); err != nil {
		t.Fatal(err)
	}
	if lent := c.Endpoints().Lent; len(lent) != 1 || lent[0] != path {
		t.Errorf("kviz endpoints tells of %q", lent)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	cfg.UserAgent = "mine/v1"
	api := kubernetes.NewForConfigOrDie(cfg)
	if code := c.Exec(t.Context(), "kubectl run web --image=nginx", control.Streams{}); code != 0 {
		t.Fatalf("exit status %d", code)
	}
	bindTo(t.Context(), t, api, "web", "node-2")
	if _, err := api.CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{}); err == nil || !strings.Contains(err.Error(), `User "system:kube-scheduler" cannot list resource "secrets"`) {
		t.Errorf("it has more than the scheduler's rights: %v", err)
	}
	if code := c.Exec(t.Context(), "kubectl wait --for=condition=Ready pod/web", control.Streams{}); code != 0 {
		t.Errorf("exit status %d", code)
	}
	var why strings.Builder
	_ = c.Exec(t.Context(), "kviz why pod/web", control.Streams{Out: &why})
	if want := "Pod default/web was bound to node-2 by system:kube-scheduler (mine/v1, a program from outside): it did not say why"; !strings.Contains(why.String(), want) {
		t.Errorf("%s\nwant %s", why.String(), want)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	events := past(t, c)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	tryForks(t, events)
}

// bindTo binds a pod as a scheduler does.
func bindTo(ctx context.Context, t *testing.T, api kubernetes.Interface, pod, node string) {
	t.Helper()
	if err := api.CoreV1().Pods("default").Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod}, Target: corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}
