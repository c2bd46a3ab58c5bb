package cluster_test

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// Two clients that ask for the pods now and then, as `while sleep 0.4; do kubectl get
// pods; done` does, over HTTPS: the pods get Running beside them. They look until it is
// so; a clock that their requests stop never gets there.
func TestPodsStartWhileClientsPoll(t *testing.T) {
	steady.RealTime(t, "the clients are programs outside")
	for name, bare := range map[string]bool{"mvcc": true, "raft": false} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), steady.Patience(t))
			defer cancel()
			c := serving(ctx, t, cluster.Config{Seed: 5, Bare: bare, NoSync: true, Nodes: 1, Speed: 1})
			api := clientset(t, c)
			if _, err := api.AppsV1().Deployments("default").Create(ctx, slow(3), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			var polls atomic.Int64
			var clients sync.WaitGroup
			for range 2 {
				api := clientset(t, c)
				clients.Go(func() {
					for ctx.Err() == nil {
						pods, err := api.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
						polls.Add(1)
						if err == nil && runningOf(pods.Items) == 3 {
							return
						}
						select {
						case <-ctx.Done():
						case <-time.After(400 * time.Millisecond):
						}
					}
				})
			}
			clients.Wait()
			if ctx.Err() != nil {
				var now time.Duration
				_ = c.Kernel().Do(func() { now = c.Kernel().Elapsed() })
				t.Errorf("the pods do not run after %d polls; virtual time has reached %v", polls.Load(), now)
				dump(t, c, 10)
			}
		})
	}
}

// serving boots a cluster as `kviz serve` does: its clock runs whether somebody waits or not.
func serving(ctx context.Context, t *testing.T, cfg cluster.Config) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Boot(ctx, cfg)
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
	return c
}

// clientset is a client of another program, with a connection of its own.
func clientset(t *testing.T, c *cluster.Cluster) *kubernetes.Clientset {
	t.Helper()
	kubeconfig := c.Endpoints().Kubeconfig
	if kubeconfig == "" {
		kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
		l, err := c.Listen(0, kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	cfg.UserAgent = t.Name()
	api, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func runningOf(pods []corev1.Pod) (n int) {
	for _, p := range pods {
		if p.Status.Phase == corev1.PodRunning {
			n++
		}
	}
	return n
}

// slow is a deployment whose image takes a while to pull.
func slow(replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "slow"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "slow"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "redis", Image: "redis:7"}}},
			},
		},
	}
}
