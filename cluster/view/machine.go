package view

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// The taints of nodes that are instances of a cloud (k8s.io/cloud-provider/api).
const (
	uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"
	shutDown      = "node.cloudprovider.kubernetes.io/shutdown"
)

// ofMachine are the controllers of cloud-controller-manager that a node is waiting for.
func ofMachine(o *Object) []string {
	n, ok := o.Value.(*corev1.Node)
	if !ok {
		return nil
	}
	var names []string
	if hasTaint(n, uninitialized) {
		names = append(names, cloudNodeController)
	}
	if hasTaint(n, shutDown) || n.Spec.ProviderID != "" && silent(n) {
		names = append(names, cloudLifecycleController)
	}
	if unrouted(n) {
		names = append(names, routeController)
	}
	return names
}

func hasTaint(n *corev1.Node, key string) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

func silent(n *corev1.Node) bool {
	return !slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func unrouted(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeNetworkUnavailable && c.Status == corev1.ConditionTrue
	})
}

// ofCloudMachine says why a node that is an instance of a cloud takes no pods: its cloud has not said
// what it is, it is shut down there, or no route leads to its pods.
func (s *State) ofCloudMachine(o *Object) *Reason {
	n, ok := o.Value.(*corev1.Node)
	if !ok || o.Deleting() {
		return nil
	}
	switch {
	case hasTaint(n, uninitialized):
		return s.byCloud(n, sentence("%s takes no pods yet: its kubelet has --cloud-provider=external and gave it the taint %s, which the %s takes off once the cloud has said what machine it is", o.Ref, uninitialized, cloudNodeController), cloudNodeController)
	case hasTaint(n, shutDown):
		return s.byCloud(n, sentence("%s takes no pods: the cloud says that its instance is shut down, so the %s gave it the taint %s, until it is Ready again", o.Ref, cloudLifecycleController, shutDown), cloudLifecycleController)
	case unrouted(n):
		return s.byCloud(n, sentence("%s takes no pods: no route in the cloud leads to its pods (%s), so the %s says NetworkUnavailable=True", o.Ref, n.Spec.PodCIDR, routeController), routeController)
	}
	return nil
}

// byCloud adds who is at work on it, or does not work, and what the cloud has said last.
func (s *State) byCloud(n *corev1.Node, a *Reason, controller string) *Reason {
	st := s.Standing(controller)
	k := Keeper{What: "controller " + controller, Why: "works", Good: true}
	if !st.Works {
		k = Keeper{What: "controller " + controller, Why: st.Why, Event: st.Event}
	}
	a.From = append(a.From, k)
	if call := s.cloudNode(n.Name); call != nil {
		k := Keeper{What: "cloud", Why: call.Call + ": " + call.Result, Good: true, Event: call.Event}
		if call.Error != "" {
			k.Why, k.Good = call.Call+" failed "+took(s.At-call.At)+" ago: "+call.Error, false
		}
		a.From = append(a.From, k)
	}
	for _, target := range []string{"cloud", "instance/" + n.Name} {
		for _, f := range s.FaultsOn(target) {
			a.From = append(a.From, Keeper{What: target, Why: "broken on purpose (kviz fault " + f.Fault.Fault + ")", Event: f.Event})
		}
	}
	return a
}
