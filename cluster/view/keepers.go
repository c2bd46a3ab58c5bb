package view

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"kviz/cluster/trace"
)

// Keeper is something that an answer comes from: what keeps an object from going, what an
// aggregated API's availability depends on, what a node lacks.
type Keeper struct {
	What  string    // a finalizer, a condition, an object: "pods web-0"
	Why   string    // what it waits for, or who takes it off
	Good  bool      // it does not stand in the way
	Of    string    // the Keeper that it belongs to, by What; "" for one of the object itself
	Ref   trace.Ref // the object, where it is one
	Event trace.ID  // that made it so; zero where that is not known
}

// Deleting reports whether the object is on its way out: it has a deletionTimestamp,
// and something still keeps it.
func (o *Object) Deleting() bool {
	m := o.Meta()
	return m != nil && !o.Deleted && m.GetDeletionTimestamp() != nil
}

// Finalizers are what has to be taken off before the object may go; a namespace has
// one in its spec.
func (o *Object) Finalizers() []string {
	m := o.Meta()
	if m == nil {
		return nil
	}
	list := slices.Clone(m.GetFinalizers())
	if ns, ok := o.Value.(*corev1.Namespace); ok {
		for _, f := range ns.Spec.Finalizers {
			list = append(list, string(f))
		}
	}
	return list
}

// customResources is on every CustomResourceDefinition (upstream's
// apiextensions.CustomResourceCleanupFinalizer).
const customResources = "customresourcecleanup.apiextensions.k8s.io"

// takers says who takes the finalizers off that Kubernetes itself puts on, and when.
var takers = map[string]string{
	metav1.FinalizerDeleteDependents:                      "garbage collector, when no dependent that blocks is left",
	metav1.FinalizerOrphanDependents:                      "garbage collector, when no dependent names it any more",
	"kubernetes":                                          "the namespace controller, when nothing is left in the namespace",
	"kubernetes.io/pvc-protection":                        "its protection controller, when no pod uses the claim",
	"kubernetes.io/pv-protection":                         "its protection controller, when no claim is bound to it",
	"batch.kubernetes.io/job-tracking":                    "the job controller, when it has counted the pod",
	"service.kubernetes.io/load-balancer-cleanup":         "the service controller, when the load balancer is gone",
	"networking.k8s.io/service-cidr-finalizer":            "service-cidrs-controller, when no IPAddress is of its range",
	"resource.kubernetes.io/delete-protection":            "resource-claim-controller, when no pod has it reserved",
	"external-provisioner.volume.kubernetes.io/finalizer": "csi-provisioner, when the driver has deleted the disk",
	customResources:                                       "the API server, when every custom object is gone",
}

// TakerOf says who takes a finalizer off, and when.
func TakerOf(finalizer string) string {
	if strings.HasPrefix(finalizer, "external-attacher/") {
		return "csi-attacher, when the driver has detached the disk"
	}
	return orElse(takers[finalizer], "the controller that put it on, when it has tidied up")
}

// ContentOf lists what lies in a namespace, by resource and name, except for Events,
// which keep nobody.
func (s *State) ContentOf(namespace string) []*Object {
	var all []*Object
	for resource := range s.Resources() { // order does not matter: they are sorted
		if resource != "events" {
			all = append(all, s.Objects(resource, namespace)...)
		}
	}
	slices.SortFunc(all, func(a, b *Object) int {
		return strings.Compare(objectKey(a.Resource, a.Namespace(), a.Name()), objectKey(b.Resource, b.Namespace(), b.Name()))
	})
	return all
}

// KeepersOf says what keeps a namespace that was asked to go: its conditions that are
// True, each with what it comes from, where that is known; nothing of other objects
// and of a namespace that stays.
func (s *State) KeepersOf(o *Object) (keepers []Keeper) {
	ns, ok := o.Value.(*corev1.Namespace)
	if !ok || !o.Deleting() {
		return nil
	}
	left := s.ContentOf(ns.Name)
	for _, c := range ns.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		what := string(c.Type)
		keepers = append(keepers, Keeper{What: what, Why: c.Message, Event: o.Changed, Ref: o.Ref})
		switch c.Type {
		case corev1.NamespaceDeletionDiscoveryFailure:
			for _, a := range s.AggregatedAPIs() {
				if a.Last.Available != "True" && strings.Contains(c.Message, groupVersion(a.Name)) {
					keepers = append(keepers, Keeper{
						What: "APIService " + a.Name, Of: what, Event: a.Since, Ref: apiServiceRef(a.Name),
						Why: fmt.Sprintf("not available: %s, %s", a.Last.Reason, a.Last.Message),
					})
				}
			}
		case corev1.NamespaceContentRemaining:
			for _, x := range left {
				if len(x.Finalizers()) == 0 {
					keepers = append(keepers, kept(x, what, "its deletion is under way"))
				}
			}
		case corev1.NamespaceFinalizersRemaining:
			for _, x := range left {
				for _, f := range x.Finalizers() {
					keepers = append(keepers, kept(x, what, "finalizer "+f+" ← "+TakerOf(f)))
				}
			}
		}
	}
	return keepers
}

func kept(x *Object, of, why string) Keeper {
	if !x.Deleting() {
		why = "not deleted yet; " + why
	}
	return Keeper{What: x.Resource + " " + x.Name(), Of: of, Why: why, Ref: x.Ref, Event: x.Changed}
}

// groupVersion is that of an APIService: "metrics.k8s.io/v1beta1" of
// "v1beta1.metrics.k8s.io".
func groupVersion(name string) string {
	version, group, _ := strings.Cut(name, ".")
	return group + "/" + version
}

func apiServiceRef(name string) trace.Ref {
	return trace.Ref{APIVersion: apiregistration.SchemeGroupVersion.String(), Kind: "APIService", Name: name}
}

// Availability says what an APIService's condition Available comes from: the Service
// that it names, the Service's endpoints, and the newest look of an API server at
// them. ok is false for other objects; one that is served here depends on nothing.
func (s *State) Availability(o *Object) (from []Keeper, ok bool) {
	svc, ok := o.Value.(*apiregistration.APIService)
	if !ok {
		return nil, false
	}
	for _, c := range svc.Status.Conditions {
		from = append(from, Keeper{
			What: fmt.Sprintf("%s=%s", c.Type, c.Status), Why: strings.TrimSuffix(c.Reason+": "+c.Message, ": "), Good: c.Status == apiregistration.ConditionTrue,
			Ref: o.Ref, Event: o.Changed,
		})
	}
	r := svc.Spec.Service
	if r == nil || o.Deleted {
		return append(from, Keeper{What: "served here", Why: "by the API server itself, which needs nobody else for it", Good: true}), true
	}
	port := int32(443)
	if r.Port != nil {
		port = *r.Port
	}
	service := s.Object("services", r.Namespace, r.Name)
	k := Keeper{What: fmt.Sprintf("Service %s/%s, port %d", r.Namespace, r.Name, port), Why: "there is none", Ref: trace.Ref{APIVersion: "v1", Kind: "Service", Namespace: r.Namespace, Name: r.Name}}
	if service != nil {
		k.Why, k.Good, k.Event = "is there", true, service.Changed
	}
	from = append(from, k)
	from = append(from, s.endpointsOf(r.Namespace, r.Name)...)
	if a, found := s.aggregated.get(o.Name()); found {
		from = append(from, Keeper{What: "last look", Why: lookedAt(a), Good: a.Last.Available == "True", Event: a.Event, Ref: o.Ref})
	}
	return from, true
}

// endpointsOf are the endpoints of a Service's slices.
func (s *State) endpointsOf(namespace, name string) (from []Keeper) {
	s.EachObject("endpointslices", namespace, func(o *Object) bool {
		slice, ok := o.Value.(*discoveryv1.EndpointSlice)
		if !ok || slice.Labels[discoveryv1.LabelServiceName] != name {
			return true
		}
		for _, e := range slice.Endpoints {
			ready := e.Conditions.Ready == nil || *e.Conditions.Ready
			k := Keeper{What: "endpoint " + strings.Join(e.Addresses, ", "), Why: "not ready", Good: ready, Ref: o.Ref, Event: o.Changed}
			if ready {
				k.Why = "ready"
			}
			if e.TargetRef != nil {
				k.Why += ", " + strings.ToLower(e.TargetRef.Kind) + " " + e.TargetRef.Name
			}
			from = append(from, k)
		}
		if len(slice.Endpoints) == 0 {
			from = append(from, Keeper{What: "EndpointSlice " + o.Name(), Why: "has no endpoints", Ref: o.Ref, Event: o.Changed})
		}
		return true
	})
	return from
}

func lookedAt(a *AggregatedAPI) string {
	text := "by " + orElse(a.By, trace.CompAPIServer)
	if a.Last.Endpoint != "" {
		text += " at " + a.Last.Endpoint
	}
	text += ", in " + took(a.Last.Took) + ": " + a.Last.Reason
	if a.Last.Available != "True" {
		text += ", " + a.Last.Message
	}
	return text
}
