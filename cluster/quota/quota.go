// Package quota is what a ResourceQuota counts: for each kind an evaluator that knows
// what an object uses (a pod: one pod, its requests and its limits; a claim: its
// storage; everything else: one of its kind). The API server uses it before it admits
// an object, the resourcequota controller when it recalculates.
//
// The evaluators are Kubernetes' own (pkg/quota/v1/evaluator/core and apiserver
// pkg/quota/v1/generic); here they get virtual time and an order. There is none for
// ResourceClaims, a kind that this cluster does not serve. Start reading at
// [NewRegistry].
package quota

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/utils/clock"
)

// aliases are the names under which kinds were counted before there was count/…
// (core legacyObjectCountAliases).
var aliases = []struct {
	resource string
	name     corev1.ResourceName
}{
	{"configmaps", corev1.ResourceConfigMaps},
	{"resourcequotas", corev1.ResourceQuotas},
	{"replicationcontrollers", corev1.ResourceReplicationControllers},
	{"secrets", corev1.ResourceSecrets},
}

// Clock is the time by which a pod that is being deleted stops counting.
type Clock struct {
	clock.Clock                  // nobody sleeps by it
	Time        func() time.Time // now
}

// Now is the time.
func (c Clock) Now() time.Time { return c.Time() }

// Since is the time passed since t.
func (c Clock) Since(t time.Time) time.Duration { return c.Time().Sub(t) }

// NewRegistry makes the evaluators of the kinds that have one of their own; the
// others' are made by [For]. list gives what there is of a kind, to those who
// count again; nil where nobody does.
func NewRegistry(list quotav1.ListerForResourceFunc, now Clock) quotav1.Registry {
	evaluators := []quotav1.Evaluator{
		core.NewPodEvaluator(list, now), core.NewServiceEvaluator(list), core.NewPersistentVolumeClaimEvaluator(list),
	}
	for _, a := range aliases {
		gvr := corev1.SchemeGroupVersion.WithResource(a.resource)
		evaluators = append(evaluators, generic.NewObjectCountEvaluator(gvr.GroupResource(), generic.ListResourceUsingListerFunc(list, gvr), a.name))
	}
	return generic.NewRegistry(evaluators)
}

// For is the evaluator of a kind: one that counts objects where there is no other.
// Nil for what is not counted.
func For(r quotav1.Registry, list quotav1.ListerForResourceFunc, gvr schema.GroupVersionResource) quotav1.Evaluator {
	gr := gvr.GroupResource()
	if gr.Resource == "events" && (gr.Group == "" || gr.Group == "events.k8s.io") {
		return nil // they have never been (install DefaultIgnoredResources)
	}
	e := r.Get(gr)
	if e == nil {
		e = generic.NewObjectCountEvaluator(gr, generic.ListResourceUsingListerFunc(list, gvr), "")
		r.Add(e)
	}
	return e
}
