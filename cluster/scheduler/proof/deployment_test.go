package proof

import (
	"bytes"
	"fmt"
	"regexp"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster"
	"kviz/cluster/beside"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// In a whole cluster without a scheduler the binary takes the Lease, and a Deployment becomes available. kviz says
// who bound its pods.
func TestTheRealOneSchedulesADeployment(t *testing.T) {
	steady.RealTime(t, "kube-scheduler is a process")
	s := beside.Serve(t, "kviz", cluster.Config{Seed: 1, Bare: true, Speed: 20, Without: []string{trace.CompScheduler}})
	s.Run(t, trace.CompScheduler, binary(t))
	exec := func(line string) string {
		var out bytes.Buffer
		if code := s.C.Exec(t.Context(), line, control.Streams{Out: &out, Err: &out}); code != 0 {
			t.Errorf("%s: exit status %d\n%s", line, code, out.String())
		}
		return out.String()
	}
	exec("kubectl create deployment web --image=nginx --replicas=3")
	steady.Await(t, "the Deployment is available", func() error {
		d, err := s.API.AppsV1().Deployments(namespace).Get(t.Context(), "web", metav1.GetOptions{})
		if err == nil && d.Status.AvailableReplicas != 3 {
			err = fmt.Errorf("%d of 3 replicas are available", d.Status.AvailableReplicas)
		}
		return err
	})
	lease, err := s.API.CoordinationV1().Leases("kube-system").Get(t.Context(), "kube-scheduler", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		t.Errorf("nobody holds the Lease: %v, %v", lease, err)
	}
	pods, err := s.API.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		want := regexp.MustCompile(`was bound to ` + p.Spec.NodeName + ` by system:kube-scheduler \(kube-scheduler/v[0-9.]+, a program from outside\): it did not say why`)
		if said := exec("kviz why pod/" + p.Name); !want.MatchString(said) {
			t.Errorf("want %s\n%s", want, said)
		}
	}
}
