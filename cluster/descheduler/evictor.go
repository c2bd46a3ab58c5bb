package descheduler

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
)

// counts are how many pods were evicted in this cycle.
type counts struct {
	total           uint
	node, namespace map[string]uint
	dry             map[string]bool // by UID: evicted by a dry run only
}

// Why nothing more is evicted (pkg/descheduler/evictions/errors.go).
var (
	errNodeLimit      = errors.New("maximum number of evicted pods per node reached")
	errNamespaceLimit = errors.New("maximum number of evicted pods per namespace reached")
	errTotalLimit     = errors.New("maximum number of evicted pods per a descheduling cycle reached")
)

// evict evicts a pod, unless the policy's limits or its budget forbid it.
//
// Mirrors pkg/descheduler/evictions/evictions.go EvictPod.
func (tn *turn) evict(pod *corev1.Pod) error {
	d, c, limits := tn.descheduler, &tn.counts, tn.policy
	node := pod.Spec.NodeName
	if n := limits.MaxNoOfPodsToEvictTotal; n != nil && c.total+1 > *n {
		d.in.Error("evictions.go:519", errTotalLimit, "Error evicting pod", "limit", *n)
		tn.failed(pod, fmt.Sprintf("total eviction limit exceeded (%v)", *n))
		return errTotalLimit
	}
	if n := limits.MaxNoOfPodsToEvictPerNode; node != "" && n != nil && c.node[node]+1 > *n {
		d.in.Error("evictions.go:534", errNodeLimit, "Error evicting pod", "limit", *n, "node", node)
		tn.failed(pod, fmt.Sprintf("node eviction limit exceeded (%v)", *n))
		return errNodeLimit
	}
	if n := limits.MaxNoOfPodsToEvictPerNamespace; n != nil && c.namespace[pod.Namespace]+1 > *n {
		d.in.Error("evictions.go:549", errNamespaceLimit, "Error evicting pod", "limit", *n, "namespace", pod.Namespace, "pod", key(pod))
		tn.failed(pod, fmt.Sprintf("namespace eviction limit exceeded (%v)", *n))
		return errNamespaceLimit
	}
	if err := tn.request(pod); err != nil {
		d.in.Error("evictions.go:560", err, "Error evicting pod", "pod", key(pod), "reason", "")
		tn.failed(pod, err.Error())
		return err
	}
	if node != "" {
		c.node[node]++
	}
	c.namespace[pod.Namespace]++
	c.total++
	said := []any{"pod", key(pod), "reason", "", "strategy", tn.plugin, "node", node, "profile", tn.profile.name}
	if d.dryRun {
		d.info(1, "evictions.go:587", "Evicted pod in dry run mode", said...)
		return nil
	}
	d.info(1, "evictions.go:589", "Evicted pod", said...)
	d.events.Eventf(tn.t, pod, nil, corev1.EventTypeNormal, tn.plugin, "Descheduled", "pod eviction from %v node by sigs.k8s.io/descheduler", node)
	return nil
}

// failed is the Event of an eviction that could not be, where the policy asks for one.
func (tn *turn) failed(pod *corev1.Pod, why string) {
	if tell := tn.policy.EvictionFailureEventNotification; tell != nil && *tell && !tn.dryRun {
		tn.events.Eventf(tn.t, pod, nil, corev1.EventTypeWarning, "EvictionFailed", "Descheduled", "pod eviction from %v node by sigs.k8s.io/descheduler failed: %v", pod.Spec.NodeName, why)
	}
}

// request is the request to pods/eviction (evictions.go evictPod).
func (tn *turn) request(pod *corev1.Pod) error {
	if tn.dryRun {
		tn.counts.dry[string(pod.UID)] = true
		return nil
	}
	_, err := tn.api.CreateSub(tn.t, client.Pods, pod.Namespace, pod.Name, "eviction", &policyv1.Eviction{
		TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, Annotations: map[string]string{
			"reason":       fmt.Sprintf("triggered by %v/%v: %v", tn.profile.name, tn.plugin, ""),
			"requested-by": name,
		}},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: tn.policy.GracePeriodSeconds},
	})
	switch {
	case apierrors.IsTooManyRequests(err):
		return fmt.Errorf("error when evicting pod (ignoring) %q: %v", pod.Name, err)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("pod not found when evicting %q: %v", pod.Name, err)
	}
	return err
}

// evictAll evicts pods of one node, one after another; it reports whether the cycle may go on.
func (tn *turn) evictAll(pods []*corev1.Pod, from string) bool {
	for _, pod := range pods {
		switch err := tn.evict(pod); err {
		case nil:
		case errNodeLimit:
			return true
		case errTotalLimit:
			return false
		default:
			tn.error(from, err, "eviction failed")
		}
	}
	return true
}

// key names a pod as klog.KObj does.
func key(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }
