package cluster_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// served is a cluster with some pods that programs reach over HTTPS.
type served struct {
	cfg *rest.Config
	api kubernetes.Interface
}

// serveOutside waits until the pods have started; one may have ended since.
func serveOutside(t *testing.T, pods ...*corev1.Pod) *served {
	t.Helper()
	steady.RealTime(t, "programs outside reach the cluster over sockets")
	c := boot(t, cluster.Config{Seed: 1, Bare: true})
	if err := c.Kernel().Do(func() { c.Kernel().SetDemand(false); c.Kernel().SetSpeed(10) }); err != nil {
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
	o := &served{cfg, kubernetes.NewForConfigOrDie(cfg)}
	for _, p := range pods {
		if _, err := o.api.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range pods {
		steady.Until(t, p.Name+" runs", func() bool {
			now, err := o.api.CoreV1().Pods("default").Get(t.Context(), p.Name, metav1.GetOptions{})
			return err == nil && now.Status.Phase != corev1.PodPending
		})
	}
	return o
}

func (o *served) sub(name, sub string) *rest.Request {
	return o.api.CoreV1().RESTClient().Post().Namespace("default").Resource("pods").Name(name).SubResource(sub)
}

func simplePod(name string, c corev1.Container) *corev1.Pod {
	c.Name = "app"
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{c}, TerminationGracePeriodSeconds: new(int64)},
	}
}

// screen is a terminal that is read while it is written to.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *screen) has(text string) func() bool {
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return strings.Contains(s.text.String(), text)
	}
}
