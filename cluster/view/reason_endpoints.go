package view

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kviz/cluster/nearest"
	"kviz/cluster/trace"
)

// withoutEndpoints says why a Service leads nowhere: its selector matches no pod, or no pod
// that it matches is ready.
func (s *State) withoutEndpoints(o *Object) *Reason {
	service := s.serviceOf(o)
	if service == nil {
		return nil
	}
	svc, ok := service.Value.(*corev1.Service)
	if !ok || svc.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	for _, e := range s.endpointsOf(service.Namespace(), service.Name()) {
		if e.Good {
			return nil
		}
	}
	has := fmt.Sprintf("%s has no endpoints: ", service.Ref)
	if len(svc.Spec.Selector) == 0 {
		return sentence("%sit has no selector, so no controller looks for pods; somebody has to write its EndpointSlices", has)
	}
	selector := labels.SelectorFromSet(svc.Spec.Selector)
	var from []Keeper
	s.EachObject("pods", service.Namespace(), func(p *Object) bool {
		if pod, ok := p.Value.(*corev1.Pod); ok && selector.Matches(labels.Set(pod.Labels)) {
			from = append(from, Keeper{What: "pod " + p.Name(), Why: s.notServing(p, pod), Good: podReady(pod), Ref: p.Ref, Event: p.Changed})
		}
		return true
	})
	chosen := strings.Join(sorted(svc.Spec.Selector), ",")
	if len(from) == 0 {
		near, pod := s.nearestPod(service, svc.Spec.Selector)
		a := sentence("%sselector %s matches no pod; %s", has, chosen, near)
		if pod != nil {
			a.From = append(a.From, Keeper{What: "pod " + pod.Name(), Why: "has " + strings.Join(sorted(pod.Meta().GetLabels()), ", "), Ref: pod.Ref, Event: pod.Changed})
		}
		return a
	}
	ready := 0
	for _, k := range from {
		if k.Good {
			ready++
		}
	}
	why := fmt.Sprintf("selector %s matches %s, and no pod of them is ready", chosen, count(len(from), "pod"))
	switch _, down := s.down(trace.CompKCM); {
	case len(from) == 1 && ready == 0:
		why = fmt.Sprintf("selector %s matches one pod, which is not ready", chosen)
	case ready > 0 && down:
		why = "the controller manager, whose EndpointSlice controller writes them, is not running"
	case ready > 0:
		why = "the EndpointSlice controller has not written them yet"
	}
	return &Reason{Says: has + why, From: from}
}

// notServing says why a pod that a Service selects gets no traffic.
func (s *State) notServing(o *Object, pod *corev1.Pod) string {
	if podReady(pod) {
		return "is ready"
	}
	for _, why := range []*Reason{s.podPending(o), s.podUnready(o), s.deletionWaits(o)} {
		if why != nil {
			return strings.TrimPrefix(why.Says, o.Ref.String()+" ")
		}
	}
	return "is not ready"
}

// nearestPod says which pod a Service most likely means whose selector matches none: one
// of its namespace with a label that is nearly the same, else one of another namespace
// with just these labels.
func (s *State) nearestPod(service *Object, selector map[string]string) (says string, pod *Object) {
	pods := s.Objects("pods", service.Namespace())
	matched := func(p *Object) (n int) {
		for k, v := range selector {
			if p.Meta() != nil && p.Meta().GetLabels()[k] == v {
				n++
			}
		}
		return n
	}
	most := 0
	for _, p := range pods {
		most = max(most, matched(p))
	}
	pods = slices.DeleteFunc(pods, func(p *Object) bool { return p.Meta() == nil || matched(p) < most })
	having := map[string]*Object{} // a label to the first pod that has it
	var all []string
	for _, p := range pods {
		for _, l := range sorted(p.Meta().GetLabels()) {
			if having[l] == nil {
				having[l] = p
				all = append(all, l)
			}
		}
	}
	for _, term := range sorted(selector) {
		if having[term] != nil {
			continue
		}
		key, _, _ := strings.Cut(term, "=")
		near := nearest.To(term, all)
		if i := slices.IndexFunc(all, func(l string) bool { return strings.HasPrefix(l, key+"=") }); near == "" && i >= 0 {
			near = all[i]
		}
		if near != "" {
			return fmt.Sprintf("nearest: pod %s has %s", having[near].Ref.Key(), near), having[near]
		}
	}
	for _, p := range s.Objects("pods", "") {
		if matched(p) == len(selector) {
			return fmt.Sprintf("pod %s has these labels, but a Service finds pods only in its own namespace", p.Ref.Key()), p
		}
	}
	if len(pods) == 0 {
		return "there is no pod in namespace " + service.Namespace(), nil
	}
	return fmt.Sprintf("no pod in namespace %s has a label like these", service.Namespace()), nil
}
