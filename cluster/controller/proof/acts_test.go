package proof

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster"
	"kviz/cluster/beside"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// In a whole cluster without controllers the binary takes the Lease, and what a controller manager does is done: with
// all controllers that it starts by default, each with a ServiceAccount and rights of its own.
func TestTheRealOneActs(t *testing.T) {
	steady.RealTime(t, "kube-controller-manager is a process")
	s := beside.Serve(t, "kviz", cluster.Config{Seed: 1, Bare: true, Epoch: time.Now(), Speed: 1, Without: []string{trace.CompKCM}})
	s.Run(t, trace.CompKCM, program(t), flags(t)...)
	exec := func(line string) {
		t.Helper()
		var out bytes.Buffer
		if code := s.C.Exec(t.Context(), line, control.Streams{Out: &out, Err: &out}); code != 0 {
			t.Errorf("%s: exit status %d\n%s", line, code, out.String())
		}
	}
	await := func(what string, missing func() error) { t.Helper(); steady.Await(t, what, missing) }
	await("the Lease is held", func() error {
		lease, err := s.API.CoordinationV1().Leases("kube-system").Get(t.Context(), "kube-controller-manager", metav1.GetOptions{})
		if err == nil && (lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "") {
			err = fmt.Errorf("nobody holds it")
		}
		return err
	})
	exec("kubectl create namespace demo")
	await("the namespace has its ServiceAccount and the root certificate", func() error {
		if _, err := s.API.CoreV1().ServiceAccounts("demo").Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
			return err
		}
		_, err := s.API.CoreV1().ConfigMaps("demo").Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		return err
	})
	exec("kubectl -n demo create quota q --hard=pods=20")
	exec("kubectl -n demo create deployment web --image=nginx --replicas=2")
	exec("kubectl -n demo expose deployment web --port=80")
	exec("kubectl -n demo create job once --image=busybox -- sleep 1")
	exec("kubectl -n demo create cronjob often --image=busybox --schedule='* * * * *' -- sleep 1")
	await("pods run, and are counted", func() error {
		d, err := s.API.AppsV1().Deployments("demo").Get(t.Context(), "web", metav1.GetOptions{})
		if err == nil && d.Status.AvailableReplicas != 2 {
			err = fmt.Errorf("%d of 2 replicas are available", d.Status.AvailableReplicas)
		}
		if err != nil {
			return err
		}
		j, err := s.API.BatchV1().Jobs("demo").Get(t.Context(), "once", metav1.GetOptions{})
		if err == nil && j.Status.CompletionTime == nil {
			err = fmt.Errorf("the Job is not complete: %+v", j.Status)
		}
		if err != nil {
			return err
		}
		slices, err := s.API.DiscoveryV1().EndpointSlices("demo").List(t.Context(), metav1.ListOptions{})
		if err == nil && (len(slices.Items) != 1 || len(slices.Items[0].Endpoints) != 2) {
			err = fmt.Errorf("the Service has not both endpoints")
		}
		if err != nil {
			return err
		}
		q, err := s.API.CoreV1().ResourceQuotas("demo").Get(t.Context(), "q", metav1.GetOptions{})
		if used := q.Status.Used["pods"]; err == nil && used.Value() < 2 {
			err = fmt.Errorf("the quota counts %s pods", &used)
		}
		return err
	})
	exec("kubectl delete namespace demo --wait=false")
	await("the namespace goes with all that is in it", func() error {
		_, err := s.API.CoreV1().Namespaces().Get(t.Context(), "demo", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there still: %v", err)
	})
}
