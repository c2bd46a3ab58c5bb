package policy

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	clientcache "k8s.io/client-go/tools/cache"

	"kviz/cluster/sim"
)

// Params are the objects of a kind that policies may name as parameters.
type Params interface {
	clientcache.GenericLister
	// Wait waits until they are known: the caches of custom kinds are opened by the first
	// request for them.
	Wait(t *sim.Task)
}

// informer takes the place of the one from which Kubernetes' policy code reads
// parameters.
type informer struct{ Params }

// Informer is informers.GenericInformer.
func (informer) Informer() clientcache.SharedIndexInformer { return synced{} }

// Lister is informers.GenericInformer.
func (i informer) Lister() clientcache.GenericLister { return i.Params }

// synced is an informer that only has to say that it has synced: waitParams has waited
// before.
type synced struct {
	clientcache.SharedIndexInformer
}

// HasSynced is clientcache.SharedIndexInformer.
func (synced) HasSynced() bool { return true }

// waitParams waits until the parameters are known.
func waitParams[P, B runtime.Object, E any](t *sim.Task, hooks []generic.PolicyHook[P, B, E]) {
	for _, h := range hooks {
		if i, ok := h.ParamInformer.(informer); ok {
			i.Wait(t)
		}
	}
}
