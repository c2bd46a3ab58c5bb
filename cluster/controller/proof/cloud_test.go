package proof

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"kviz/cluster"
	"kviz/cluster/beside"
	"kviz/cluster/trace"
)

// A cloud-controller-manager of upstream's takes the place of kviz' own, with the credential that it is given: it
// initializes the nodes of kubelets with --cloud-provider=external, and gives a Service its address.
func TestACloudControllerManagerTakesTheirPlace(t *testing.T) {
	program := filepath.Join(folder, "cloud-controller-manager")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cloud").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := beside.Serve(t, "theirs", cluster.Config{Seed: 1, Bare: true, Nodes: 2, Speed: 1, External: true, Without: []string{trace.CompCCM}})
	nodes, err := s.API.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes.Items {
		if n.Spec.ProviderID != "" || len(n.Spec.Taints) != 1 || len(n.Status.Addresses) != 1 {
			t.Errorf("%s is initialized before the program runs: %v %v %v", n.Name, n.Spec.ProviderID, n.Spec.Taints, n.Status.Addresses)
		}
	}
	s.Run(t, trace.CompCCM, program, "--cloud-provider=proof", "--configure-cloud-routes=false")
	if _, err := s.API.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes.Items {
		await(t, n.Name+" is initialized", func(ctx context.Context) bool {
			got, err := s.API.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
			return err == nil && got.Spec.ProviderID == "proof://"+n.Name && len(got.Spec.Taints) == 0 &&
				got.Labels[corev1.LabelTopologyZone] == "here" && len(got.Status.Addresses) == 2 && got.Status.Addresses[0].Address == "192.0.2.7"
		})
	}
	await(t, "the Service has an address", func(ctx context.Context) bool {
		got, err := s.API.CoreV1().Services("default").Get(ctx, "web", metav1.GetOptions{})
		return err == nil && len(got.Status.LoadBalancer.Ingress) == 1 && got.Status.LoadBalancer.Ingress[0].IP == "198.51.100.1"
	})
}

func await(t *testing.T, what string, holds func(context.Context) bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		return holds(ctx), nil
	}); err != nil {
		t.Fatalf("not so: %s: %v", what, err)
	}
}
