package view

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"kviz/cluster/trace"
)

// Reason is what somebody who asks why of an object wants to know first: a sentence, and
// below it what that comes from.
type Reason struct {
	Says string
	From []Keeper
}

// answered are the questions that are asked of an object, in the order in which they are
// answered. Each has nothing to say of most objects.
var answered = []func(*State, *Object) *Reason{
	(*State).withoutQuorum,
	(*State).namespaceStays,
	(*State).deletionWaits,
	(*State).podFailed,
	(*State).endedOfJob,
	(*State).podPending,
	(*State).podClaims,
	(*State).podDevices,
	(*State).unattended,
	(*State).stopped,
	(*State).actedOn,
	(*State).podUnready,
	(*State).evictionRefused,
	(*State).drained,
	(*State).assumed,
	(*State).nodeChosen,
	(*State).podIdentity,
	(*State).daemonPod,
	(*State).podOfJob,
	(*State).claimWaits,
	(*State).claimOfSet,
	(*State).volumePhase,
	(*State).withoutBalancer,
	(*State).ofCloudMachine,
	(*State).volumeAttachment,
	(*State).claimDevices,
	(*State).deviceTaintRule,
	(*State).withoutEndpoints,
	(*State).rollout,
	(*State).replicaSets,
	(*State).replicas,
	(*State).keptForUndo,
	(*State).statefulSet,
	(*State).daemonSet,
	(*State).job,
	(*State).cronJob,
	(*State).budget,
	(*State).revision,
	(*State).autoscale,
	(*State).unknownMetric,
	(*State).inert,
}

// Reasons are the answers to what people ask of an object in its state; none where there is
// nothing to say but what led to its last write.
func (s *State) Reasons(o *Object) (all []Reason) {
	if o == nil || o.Deleted {
		return nil
	}
	for _, answer := range answered {
		if a := answer(s, o); a != nil {
			all = append(all, *a)
		}
	}
	return all
}

// ReasonsOf is [State.Reasons] of the object that a ref names.
func (s *State) ReasonsOf(ref trace.Ref) []Reason {
	if ref.Name == "" {
		return nil
	}
	return s.Reasons(s.ObjectOf(ref))
}

// assumed tells what of a pod's state is so because it is assumed of an image that is not
// known, or of a program that is not simulated.
func (s *State) assumed(o *Object) *Reason {
	pod, ok := o.Value.(*corev1.Pod)
	if !ok || s.Node(pod.Spec.NodeName) == nil {
		return nil
	}
	on := s.Node(pod.Spec.NodeName).Pod(o.Ref.Key())
	if on == nil {
		return nil
	}
	var a *Reason
	for _, x := range on.assumed {
		switch text := fmt.Sprintf("Container %s is assumed %s", x.container, x.what); {
		case x.what == "":
		case a == nil:
			a = &Reason{Says: text}
		default:
			a.From = append(a.From, Keeper{What: text, Ref: o.Ref})
		}
	}
	return a
}

// inert tells what of an object nothing acts on.
func (s *State) inert(o *Object) *Reason {
	texts := o.Inert()
	if len(texts) == 0 || o.Ref.Kind == autoscaler {
		return nil
	}
	a := &Reason{Says: upper(texts[0])}
	for _, text := range texts[1:] {
		a.From = append(a.From, Keeper{What: upper(text), Ref: o.Ref})
	}
	return a
}

// serviceOf is the Service that an object is, or whose endpoints it lists; or nil.
func (s *State) serviceOf(o *Object) *Object {
	switch {
	case o.Resource == "services":
		return o
	case o.Resource == "endpoints":
		return s.Object("services", o.Namespace(), o.Name())
	}
	if slice, ok := o.Value.(*discoveryv1.EndpointSlice); ok {
		return s.Object("services", o.Namespace(), slice.Labels[discoveryv1.LabelServiceName])
	}
	return nil
}

// down reports whether a process is known not to run, and why.
func (s *State) down(lane string) (p *Process, down bool) {
	p = s.Process(lane)
	return p, p != nil && !p.Up
}

// joined lists words: "a, b and c".
func joined(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}

// isAre is the verb for so many.
func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// sentence puts a reason behind what it explains.
func sentence(format string, args ...any) *Reason { return &Reason{Says: fmt.Sprintf(format, args...)} }

// sorted are the keys of a map of labels, each with its value, in order.
func sorted(labels map[string]string) []string {
	all := make([]string, 0, len(labels))
	for k, v := range labels {
		all = append(all, k+"="+v)
	}
	slices.Sort(all)
	return all
}
