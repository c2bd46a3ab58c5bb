package scheduler

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kviz/cluster/client"
	"kviz/cluster/informer"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
)

// objects are what plugins read beside nodes and pods: which pods belong together, and the
// labels of namespaces.
type objects struct {
	namespaces, services, replicaSets    *informer.Informer
	replicationControllers, statefulSets *informer.Informer
	budgets                              *informer.Informer
	*storage
	*devices
	atStart []*informer.Informer // those that were started at once
}

func newObjects(p *sim.Process, c client.Interface) *objects {
	of := func(r client.Resource) *informer.Informer {
		return informer.New(p, p.Lane, c, r, "", informer.Options{})
	}
	return &objects{
		namespaces: of(client.Namespaces), services: of(client.Services), replicaSets: of(client.ReplicaSets),
		replicationControllers: of(client.ReplicationControllers), statefulSets: of(client.StatefulSets),
		budgets: of(client.PodDisruptionBudgets), storage: newStorage(of), devices: newDevices(p, of),
	}
}

// start starts the informers, those of kinds that a cluster may never use when it does.
func (o *objects) start(p *sim.Process, c client.Interface) {
	all := append([]*informer.Informer{o.namespaces, o.services, o.replicaSets, o.replicationControllers, o.statefulSets, o.budgets}, slices.Concat(o.storage.informers(), o.devices.informers())...)
	for _, i := range all {
		if slices.Contains(client.InUse(c), i.Resource()) {
			o.atStart = append(o.atStart, i)
			i.Start()
			continue
		}
		p.Go("await "+i.Resource().Resource, func(t *sim.Task) {
			client.AwaitUseOf(t, c, i.Resource())
			i.Start()
		})
	}
}

// waitForSync waits for what the cluster had when the scheduler started.
func (o *objects) waitForSync(t *sim.Task) {
	for _, i := range o.atStart {
		i.WaitForSync(t)
	}
}

// Services lists the Services of a namespace.
func (o *objects) Services(namespace string) []*corev1.Service {
	list := o.services.ListNamespace(namespace)
	services := make([]*corev1.Service, 0, len(list))
	for _, s := range list {
		services = append(services, s.(*corev1.Service))
	}
	return services
}

func get[T any](i *informer.Informer, namespace, name string) T {
	obj, _ := i.Get(informer.Key(namespace, name))
	t, _ := obj.(T)
	return t
}

// ReplicationController is the one of a name, nil if there is none.
func (o *objects) ReplicationController(namespace, name string) *corev1.ReplicationController {
	return get[*corev1.ReplicationController](o.replicationControllers, namespace, name)
}

// ReplicaSet is the one of a name, nil if there is none.
func (o *objects) ReplicaSet(namespace, name string) *appsv1.ReplicaSet {
	return get[*appsv1.ReplicaSet](o.replicaSets, namespace, name)
}

// StatefulSet is the one of a name, nil if there is none.
func (o *objects) StatefulSet(namespace, name string) *appsv1.StatefulSet {
	return get[*appsv1.StatefulSet](o.statefulSets, namespace, name)
}

// Budgets are all PodDisruptionBudgets.
func (s *Scheduler) Budgets() []*policyv1.PodDisruptionBudget {
	list := s.objects.budgets.List()
	budgets := make([]*policyv1.PodDisruptionBudget, 0, len(list))
	for _, b := range list {
		budgets = append(budgets, b.(*policyv1.PodDisruptionBudget))
	}
	return budgets
}

// NamespaceLabels are a namespace's labels, none if it is not known.
func (s *Scheduler) NamespaceLabels(name string) labels.Set {
	if ns := get[*corev1.Namespace](s.objects.namespaces, "", name); ns != nil {
		return ns.Labels
	}
	return nil
}

// NamespacesThat gives the names of the namespaces with certain labels.
func (s *Scheduler) NamespacesThat(match labels.Selector) []string {
	var names []string
	for _, o := range s.objects.namespaces.List() {
		if ns := o.(*corev1.Namespace); match.Matches(labels.Set(ns.Labels)) {
			names = append(names, ns.Name)
		}
	}
	return names
}

// Kinds are the kinds of the pods on nodes.
func (s *Scheduler) Kinds() *framework.PodKinds { return &s.cache.kinds }
