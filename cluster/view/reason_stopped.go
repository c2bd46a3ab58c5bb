package view

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
)

// stopped says that a controller which brings about what is wanted of an object is down or slow
// by itself, because of a fault, and what of the object it has not looked at.
func (s *State) stopped(o *Object) *Reason {
	var a *Reason
	for _, name := range attendants(o) {
		st := s.Standing(name)
		if len(s.FaultsOn("controller/"+name)) == 0 || name == serviceController && s.withoutBalancer(o) != nil || slices.Contains(ofCloud, name) && s.ofCloudMachine(o) != nil { // which tells
			continue
		}
		says := fmt.Sprintf("The %s %s: %s waits for it%s", name, st.Why, o.Ref, unseen(o))
		if st.Works {
			says = fmt.Sprintf("Each run of the %s takes %s longer (kviz fault slow): what is changed of %s has to wait%s", name, st.Slower, o.Ref, unseen(o))
		}
		from := Keeper{What: "controller " + name, Why: "broken on purpose; kviz fault start controller/" + name + " starts it", Event: st.Event}
		if st.Works {
			from.Why = "slowed on purpose; kviz fault fast controller/" + name + " undoes it"
		}
		if a == nil {
			a = &Reason{Says: says, From: []Keeper{from}}
			continue
		}
		a.From = append(a.From, Keeper{What: "controller " + name, Why: st.Why, Event: st.Event})
	}
	return a
}

// unseen is how far an object's status is behind its spec: ", with its spec at generation 3 and
// its status at 2".
func unseen(o *Object) string {
	spec, status, ok := lookedAtGeneration(o)
	switch {
	case !ok:
		return ""
	case status < spec:
		return fmt.Sprintf(", with its spec at generation %d and its status at %d", spec, status)
	}
	return fmt.Sprintf(", with spec and status at generation %d", spec)
}

// lookedAtGeneration is the generation of an object's spec, and the one that its status tells of, where it does.
func lookedAtGeneration(o *Object) (spec, status int64, ok bool) {
	switch v := o.Value.(type) {
	case *appsv1.Deployment:
		return v.Generation, v.Status.ObservedGeneration, true
	case *appsv1.ReplicaSet:
		return v.Generation, v.Status.ObservedGeneration, true
	case *appsv1.StatefulSet:
		return v.Generation, v.Status.ObservedGeneration, true
	case *appsv1.DaemonSet:
		return v.Generation, v.Status.ObservedGeneration, true
	case *corev1.ReplicationController:
		return v.Generation, v.Status.ObservedGeneration, true
	case *policyv1.PodDisruptionBudget:
		return v.Generation, v.Status.ObservedGeneration, true
	}
	return 0, 0, false
}
