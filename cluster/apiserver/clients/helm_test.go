package clients

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"kviz/raftstore/steady"
)

// Helm installs a chart of a dozen kinds with a custom resource and a hook, waits until
// it runs, tests it, upgrades it, rolls back and takes it away again, with server-side apply and
// without.
func TestHelm(t *testing.T) {
	s := serve(t)
	for _, serverSide := range []bool{true, false} {
		t.Run(fmt.Sprintf("server-side=%v", serverSide), func(t *testing.T) { s.life(t, serverSide) })
	}
}

func (s *served) life(t *testing.T, serverSide bool) {
	namespace, timeout := fmt.Sprintf("shop-%v", serverSide), 2*steady.Patience(t)
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig, flags.Namespace = &s.kubeconfig, &namespace
	cfg := action.NewConfiguration()
	if err := cfg.Init(flags, namespace, "secret"); err != nil {
		t.Fatal(err)
	}
	chart, err := loader.Load("testdata/chart")
	if err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(cfg)
	install.ReleaseName, install.Namespace, install.CreateNamespace = "shop", namespace, true
	install.ServerSideApply, install.WaitStrategy, install.WaitForJobs, install.Timeout = serverSide, kube.StatusWatcherStrategy, true, timeout
	made, err := install.Run(chart, map[string]any{"replicas": 3})
	if err != nil {
		t.Fatalf("install: %v", err)
	}
	s.is(t, made, 1, "deployed")
	s.has(t, namespace, 3, "blue")
	if _, err := s.api.CoreV1().Pods(namespace).Get(t.Context(), "shop-prepare", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the hook that has succeeded: %v", err)
	}

	try := action.NewReleaseTesting(cfg)
	try.Timeout = timeout
	_, shutdown, err := try.Run("shop")
	if err != nil {
		t.Errorf("helm test: %v", err)
	}
	if err := shutdown(); err != nil {
		t.Errorf("what helm test leaves: %v", err)
	}

	upgrade := action.NewUpgrade(cfg)
	upgrade.Namespace, upgrade.WaitStrategy, upgrade.Timeout = namespace, kube.StatusWatcherStrategy, timeout
	if made, err = upgrade.Run("shop", chart, map[string]any{"replicas": 4, "colour": "red", "image": "nginx:stable"}); err != nil {
		t.Fatalf("upgrade: %v", err)
	}
	s.is(t, made, 2, "deployed")
	s.has(t, namespace, 4, "red")

	bad := action.NewUpgrade(cfg)
	bad.Namespace, bad.WaitStrategy, bad.Timeout = namespace, kube.HookOnlyStrategy, timeout
	if _, err := bad.Run("shop", chart, map[string]any{"replicas": -1}); err == nil || !strings.Contains(err.Error(), "must be greater than or equal to 0") {
		t.Errorf("an upgrade to -1 replicas: %v", err)
	}

	rollback := action.NewRollback(cfg)
	rollback.Version, rollback.WaitStrategy, rollback.Timeout = 1, kube.StatusWatcherStrategy, timeout
	if err := rollback.Run("shop"); err != nil {
		t.Fatalf("rollback: %v", err)
	}
	s.has(t, namespace, 3, "blue")
	past, err := action.NewHistory(cfg).Run("shop")
	if err != nil {
		t.Fatal(err)
	}
	var states []string
	for _, r := range past {
		a, err := release.NewAccessor(r)
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, fmt.Sprintf("%d %s", a.Version(), a.Status()))
	}
	slices.Sort(states)
	if got := strings.Join(states, ", "); got != "1 superseded, 2 superseded, 3 failed, 4 deployed" {
		t.Errorf("history: %s", got)
	}

	uninstall := action.NewUninstall(cfg)
	uninstall.WaitStrategy, uninstall.Timeout, uninstall.DeletionPropagation = kube.StatusWatcherStrategy, timeout, "foreground"
	if _, err := uninstall.Run("shop"); err != nil {
		t.Fatalf("uninstall: %v", err)
	}
	if _, err := s.api.AppsV1().Deployments(namespace).Get(t.Context(), "shop", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after the end the deployment is there: %v", err)
	}
	pods, err := s.api.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) > 0 {
		t.Errorf("after the end there are %d pods, %v", len(pods.Items), err)
	}
	secrets, err := s.api.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(secrets.Items) > 0 {
		t.Errorf("after the end there are %d secrets, %v", len(secrets.Items), err)
	}
}

// is holds what helm says of a release.
func (s *served) is(t *testing.T, r release.Releaser, version int, status string) {
	t.Helper()
	a, err := release.NewAccessor(r)
	if err != nil {
		t.Fatal(err)
	}
	if a.Version() != version || a.Status() != status {
		t.Errorf("release %d is %s, want %d %s", a.Version(), a.Status(), version, status)
	}
}

// has holds what the API server says of it.
func (s *served) has(t *testing.T, namespace string, replicas int32, colour string) {
	t.Helper()
	d, err := s.api.AppsV1().Deployments(namespace).Get(t.Context(), "shop", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Status.ReadyReplicas != replicas || d.Status.UpdatedReplicas != replicas {
		t.Errorf("%d ready and %d updated replicas, want %d", d.Status.ReadyReplicas, d.Status.UpdatedReplicas, replicas)
	}
	m, err := s.api.CoreV1().ConfigMaps(namespace).Get(t.Context(), "shop", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Data["colour"] != colour {
		t.Errorf("the colour is %q, want %q", m.Data["colour"], colour)
	}
}
