package apiserver

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	quotaconfig "k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func hard(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

// giveQuota makes a quota and does what the controller would: it counts.
func (w *world) giveQuota(task *sim.Task, name string, limits, used corev1.ResourceList) {
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ResourceQuotaSpec{Hard: limits}}
	q, err := client.Create(task, w.admin(), client.ResourceQuotas, "default", q)
	w.must(err)
	q.Status = corev1.ResourceQuotaStatus{Hard: limits, Used: used}
	_, err = client.UpdateStatus(task, w.admin(), client.ResourceQuotas, "default", q)
	w.must(err)
}

// TestQuotaUnderConcurrency has twenty requests at once for seven places, while
// somebody else writes the quota's status all the time: exactly seven get in, and
// the status says seven.
func TestQuotaUnderConcurrency(t *testing.T) {
	t.Parallel()
	run(t, Config{}, func(w *world, task *sim.Task) {
		defaultAccount(w, task)
		w.giveQuota(task, "pods", hard("pods", "7"), hard("pods", "0"))
		made, refused, left := 0, 0, 20
		var done sim.Cond
		for i := range left {
			w.user.Go(fmt.Sprintf("client-%d", i), func(task *sim.Task) {
				_, err := w.admin().Create(task, client.Pods, "default", pod(fmt.Sprintf("p-%02d", i)))
				switch {
				case err == nil:
					made++
				case strings.Contains(err.Error(), "exceeded quota: pods, requested: pods=1, used: pods=7, limited: pods=7"):
					refused++
				default:
					t.Errorf("client %d: %v", i, err)
				}
				left--
				done.Broadcast()
			})
		}
		w.user.Go("meddler", func(task *sim.Task) {
			for range 2 { // the plugin tries four times
				q, err := client.Get[*corev1.ResourceQuota](task, w.admin(), client.ResourceQuotas, "default", "pods")
				w.must(err)
				q.Labels = map[string]string{"seen": q.ResourceVersion}
				if _, err = client.Update(task, w.admin(), client.ResourceQuotas, "default", q); err != nil && !apierrors.IsConflict(err) {
					t.Error(err)
				}
			}
		})
		for left > 0 {
			done.Wait(task)
		}
		q, err := client.Get[*corev1.ResourceQuota](task, w.admin(), client.ResourceQuotas, "default", "pods")
		w.must(err)
		used := q.Status.Used[corev1.ResourcePods]
		if made != 7 || refused != 13 || used.Value() != 7 {
			t.Errorf("%d made, %d refused, the quota says %s", made, refused, used.String())
		}
		charges := 0
		for _, e := range w.sink.events {
			if r, ok := e.Payload.(*trace.Request); ok && r.Client == "apiserver" {
				charges++
			}
		}
		if charges >= 7 {
			t.Errorf("%d charges for 7 pods: those that wait together should be charged together", charges)
		}
	})
}

// TestQuotaCostsNothingWithoutOne counts the requests that making a pod takes.
func TestQuotaCostsNothingWithoutOne(t *testing.T) {
	t.Parallel()
	run(t, Config{}, func(w *world, task *sim.Task) {
		defaultAccount(w, task)
		n := w.s.peers.requests
		_, err := w.admin().Create(task, client.Pods, "default", pod("p"))
		w.must(err)
		if w.s.peers.requests != n+1 {
			t.Errorf("creating a pod took %d requests", w.s.peers.requests-n)
		}
	})
}

// TestLimitedResources has an administrator who lets claims and critical pods only
// where a quota covers them.
func TestLimitedResources(t *testing.T) {
	t.Parallel()
	limited := []quotaconfig.LimitedResource{{Resource: "pods", MatchContains: []string{"requests.cpu"}}}
	run(t, Config{LimitedResources: limited}, func(w *world, task *sim.Task) {
		defaultAccount(w, task)
		p := pod("p")
		p.Spec.Containers[0].Resources.Requests = hard("cpu", "1")
		_, err := w.admin().Create(task, client.Pods, "default", p)
		if err == nil || !strings.Contains(err.Error(), "insufficient quota to consume: requests.cpu") {
			t.Errorf("without a quota: %v", err)
		}
		w.giveQuota(task, "cpu", hard("requests.cpu", "1"), hard("requests.cpu", "0"))
		_, err = w.admin().Create(task, client.Pods, "default", p)
		w.must(err)
	})
}
