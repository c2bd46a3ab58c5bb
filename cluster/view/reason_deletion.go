package view

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/trace"
)

// namespaceStays says why a namespace stays Terminating.
func (s *State) namespaceStays(o *Object) *Reason {
	if _, ok := o.Value.(*corev1.Namespace); !ok || !o.Deleting() {
		return nil
	}
	left := s.ContentOf(o.Name())
	from := s.KeepersOf(o)
	var why string
	switch n := len(left); {
	case n > 0:
		why = fmt.Sprintf("%s %s left in it", count(n, "object"), isAre(n))
		for _, x := range left {
			if list := x.Finalizers(); len(list) > 0 {
				why += fmt.Sprintf("; %s %s waits for its finalizer %s", one(x.Resource), x.Name(), list[0])
				break
			}
		}
	case len(from) > 0:
		why = strings.TrimSuffix(from[0].Why, ".")
	default:
		why = "the namespace controller has not finished deleting what was in it"
	}
	if p, down := s.down(trace.CompKCM); down {
		why += "; and the controller manager, whose namespace controller would delete them, is not running"
		from = append(from, Keeper{What: p.Name, Why: p.Reason, Event: p.Event})
	}
	return &Reason{Says: fmt.Sprintf("%s stays Terminating: %s", o.Ref, why), From: from}
}

// deletionWaits says why kubectl delete of an object waits: what keeps the object, and who
// has to let it go.
func (s *State) deletionWaits(o *Object) *Reason {
	if _, ok := o.Value.(*corev1.Namespace); ok || !o.Deleting() {
		return nil
	}
	list := o.Finalizers()
	if len(list) == 0 {
		return s.podEnds(o)
	}
	a := sentence("%s is being deleted and stays, and kubectl delete waits, until its %s: %s", o.Ref, takenOff(len(list)), joined(list))
	for _, f := range list {
		a.From = append(a.From, s.takerOn(o, f))
	}
	if slices.Contains(list, metav1.FinalizerDeleteDependents) {
		for _, c := range s.Children(o.UID) {
			a.From = append(a.From, Keeper{What: one(c.Resource) + " " + c.Name(), Of: "finalizer " + metav1.FinalizerDeleteDependents, Why: "is a dependent that still exists", Ref: c.Ref, Event: c.Changed})
		}
	}
	return a
}

func takenOff(n int) string {
	if n == 1 {
		return "finalizer is taken off"
	}
	return "finalizers are taken off"
}

// takerOn says who takes a finalizer off an object. Of one that is not Kubernetes' own it
// says who put it on: a controller takes off its own, and nothing takes off what a person
// put on by hand.
func (s *State) takerOn(o *Object, finalizer string) Keeper {
	k := Keeper{What: "finalizer " + finalizer, Ref: o.Ref, Event: o.Changed}
	if known := takers[finalizer]; known != "" {
		k.Why = "taken off by " + known
		manager, name := trace.CompKCM, "the controller manager"
		if finalizer == balancerFinalizer {
			manager, name = trace.CompCCM, cloudLease
		}
		if p, down := s.down(manager); down && known != takers[customResources] {
			k.Why += "; " + name + " is not running: " + p.Reason
		}
		if c := s.CloudCall(o.Ref.Key()); c != nil && c.Error != "" && finalizer == balancerFinalizer {
			k.Why += "; the cloud's last answer: " + c.Error
		}
		return k
	}
	put, r := s.putOn(o, finalizer)
	if !put.Event.IsZero() {
		k.Event = put.Event
	}
	byHand := takeOff(o)
	switch {
	case r == nil:
		k.Why = "taken off by the controller that put it on, when it has tidied up; if there is no such controller any more: " + byHand
	case strings.HasPrefix(r.Client, "kubectl"):
		k.Why = fmt.Sprintf("%s put it on with %s, and no controller here takes it off; by hand: %s", r.User, r.Client, byHand)
	default:
		k.Why = fmt.Sprintf("%s put it on, and takes it off when it has tidied up", r.Client)
	}
	return k
}

// takeOff is the command that takes the finalizers of an object off.
func takeOff(o *Object) string {
	of := one(o.Resource) + " " + o.Name()
	if o.Namespace() != "" {
		of += " -n " + o.Namespace()
	}
	if len(o.Finalizers()) > 1 {
		return "kubectl edit " + of
	}
	return "kubectl patch " + of + ` --type=merge -p '{"metadata":{"finalizers":null}}'`
}

// putOn is the write since which an object has a finalizer, and the request that made it;
// nil where that is not kept any more.
func (s *State) putOn(o *Object, finalizer string) (Change, *Request) {
	list := o.History()
	for i, c := range list {
		before := Object{Value: c.Value}
		if !slices.Contains(before.Finalizers(), finalizer) {
			continue
		}
		if i == 0 && c.Event != o.Created {
			return Change{}, nil // it is older than what is kept
		}
		return c, s.requestOf(c.Event)
	}
	return Change{}, nil
}

// podEnds says what a pod that was deleted waits for: its kubelet ends its containers
// and confirms the deletion.
func (s *State) podEnds(o *Object) *Reason {
	pod, ok := o.Value.(*corev1.Pod)
	if !ok {
		return nil
	}
	var grace int64
	if g := pod.DeletionGracePeriodSeconds; g != nil {
		grace = *g
	}
	node := pod.Spec.NodeName
	if p, down := s.down(trace.CompKubelet + "/" + node); down {
		a := sentence("%s stays Terminating: the kubelet of %s, which has to end its containers and say so, is not running", o.Ref, node)
		a.From = append(a.From, Keeper{What: p.Name, Why: p.Reason, Event: p.Event})
		return a
	}
	return sentence("%s is being deleted: the kubelet of %s gives its containers up to %d s to end, then kills them and confirms the deletion", o.Ref, node, grace)
}
