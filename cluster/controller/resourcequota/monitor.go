package resourcequota

import (
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/client-go/tools/cache"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/quota/v1/evaluator/core"

	"kviz/cluster/client"
	"kviz/cluster/informer"
	"kviz/cluster/quota"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// monitor watches a kind, so that its objects can be counted, and quotas be counted
// anew when one goes (QuotaMonitor.controllerFor).
func (c *Controller) monitor(r client.Resource) {
	gvr := r.GroupVersionResource
	if !r.Namespaced || c.monitors[gvr] != nil {
		return
	}
	e := quota.For(c.registry, c.lister, gvr)
	if e == nil {
		return
	}
	i := c.Informers.For(r)
	c.monitors[gvr] = i
	c.order = append(c.order, i)
	i.AddHandler(informer.Handler{
		Resync: informer.NoResync,
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			if c.frees(old, obj) {
				c.replenish(t, e, obj)
			}
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.replenish(t, e, obj) },
	})
}

// replenish has those quotas counted again that count what has gone
// (replenishQuota).
func (c *Controller) replenish(t *sim.Task, e quotav1.Evaluator, obj runtime.Object) {
	for _, q := range c.quotas.ListNamespace(obj.(metav1.Object).GetNamespace()) {
		if len(e.MatchingResources(quotav1.ResourceNames(q.(*corev1.ResourceQuota).Status.Hard))) > 0 {
			c.loop.Add(t, informer.KeyOf(q))
		}
	}
}

// frees reports whether a change makes an object count for less, or for another
// quota (install DefaultUpdateFilter).
func (c *Controller) frees(old, obj runtime.Object) bool {
	switch o := obj.(type) {
	case *corev1.Pod:
		was := old.(*corev1.Pod)
		return resized(was, o) || core.IsTerminating(was) != core.IsTerminating(o) || core.QuotaV1Pod(was, c.clock) && !core.QuotaV1Pod(o, c.clock)
	case *corev1.Service:
		return core.GetQuotaServiceType(old.(*corev1.Service)) != core.GetQuotaServiceType(o)
	case *corev1.PersistentVolumeClaim:
		return core.RequiresQuotaReplenish(o, old.(*corev1.PersistentVolumeClaim))
	}
	return false
}

// resized is hasResourcesChanged.
func resized(was, is *corev1.Pod) bool {
	differ := func(old, now []corev1.ContainerStatus) bool {
		for i := range old {
			if s, ok := podutil.GetContainerStatus(now, old[i].Name); ok && !apiequality.Semantic.DeepEqual(old[i].Resources, s.Resources) {
				return true
			}
		}
		return false
	}
	return differ(was.Status.ContainerStatuses, is.Status.ContainerStatuses) || differ(was.Status.InitContainerStatuses, is.Status.InitContainerStatuses)
}

// lister gives the evaluators what there is of a kind: of one that nobody uses,
// nothing.
func (c *Controller) lister(gvr schema.GroupVersionResource) (cache.GenericLister, error) {
	return lister{c.monitors[gvr]}, nil
}

// lister is an informer as client-go would have it. Evaluators only ever list a
// namespace.
type lister struct{ of *informer.Informer }

func (l lister) List(sel labels.Selector) ([]runtime.Object, error) {
	return listed{l.of, ""}.List(sel)
}
func (l lister) Get(name string) (runtime.Object, error)            { return listed{l.of, ""}.Get(name) }
func (l lister) ByNamespace(ns string) cache.GenericNamespaceLister { return listed{l.of, ns} }

type listed struct {
	of *informer.Informer
	ns string
}

func (l listed) List(sel labels.Selector) ([]runtime.Object, error) {
	if l.of == nil {
		return nil, nil
	}
	var out []runtime.Object
	for _, obj := range l.of.ListNamespace(l.ns) {
		if sel.Matches(labels.Set(obj.(metav1.Object).GetLabels())) {
			out = append(out, obj)
		}
	}
	return out, nil
}

func (l listed) Get(name string) (runtime.Object, error) {
	if l.of != nil {
		if obj, ok := l.of.Get(informer.Key(l.ns, name)); ok {
			return obj, nil
		}
	}
	return nil, errNotListed
}
