package view

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon/util"
)

// nodeFor is a node as a DaemonSet sees it.
type nodeFor struct {
	name   string
	node   *Object
	refuse string // why it is to have no pod; "" where it is
	stays  bool   // a pod that is there already stays all the same
	pods   []*Object
}

// refuses says why a DaemonSet wants no pod on a node, "" if it wants one, and whether one that runs there
// stays. It asks as upstream's NodeShouldRunDaemonPod does, which does not say why.
func refuses(ds *appsv1.DaemonSet, tolerations []corev1.Toleration, affinity nodeaffinity.RequiredNodeAffinity, node *corev1.Node) (why string, stays bool) {
	spec := &ds.Spec.Template.Spec
	if spec.NodeName != "" && spec.NodeName != node.Name {
		return "spec.template.spec.nodeName is " + spec.NodeName, false
	}
	if fits, _ := affinity.Match(node); !fits {
		return unselected(spec, node), false
	}
	first := func(effects ...corev1.TaintEffect) *corev1.Taint {
		t, found := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, tolerations, func(t *corev1.Taint) bool { return slices.Contains(effects, t.Effect) }, false)
		if !found {
			return nil
		}
		return &t
	}
	if t := first(corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule); t != nil {
		return fmt.Sprintf("it has the taint %s, which the pods do not tolerate", t.ToString()), first(corev1.TaintEffectNoExecute) == nil
	}
	return "", true
}

// unselected says what of a template's nodeSelector or node affinity a node does not meet.
func unselected(spec *corev1.PodSpec, node *corev1.Node) string {
	for _, want := range sorted(spec.NodeSelector) {
		key, value, _ := strings.Cut(want, "=")
		switch have, ok := node.Labels[key]; {
		case !ok:
			return fmt.Sprintf("it has no label %s, and spec.template.spec.nodeSelector wants %s", key, want)
		case have != value:
			return fmt.Sprintf("it has %s=%s, and spec.template.spec.nodeSelector wants %s", key, have, want)
		}
	}
	return "its labels do not match the required node affinity of spec.template.spec.affinity"
}

// lookAtDaemons are the nodes as a DaemonSet sees them, by name, and how many are to have a pod.
func (s *State) lookAtDaemons(o *Object, ds *appsv1.DaemonSet) (all []*nodeFor, desired int) {
	spec := ds.Spec.Template.Spec
	util.AddOrUpdateDaemonPodTolerations(&spec)
	affinity := nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity)
	by := map[string]*nodeFor{}
	s.EachObject("nodes", "", func(n *Object) bool {
		if node, ok := n.Value.(*corev1.Node); ok {
			f := &nodeFor{name: node.Name, node: n}
			f.refuse, f.stays = refuses(ds, spec.Tolerations, affinity, node)
			if f.refuse == "" {
				desired++
			}
			all, by[node.Name] = append(all, f), f
		}
		return true
	})
	objects, values := children[*corev1.Pod](s, o)
	for i, p := range objects {
		name, _ := util.GetTargetNodeName(values[i])
		if f := by[name]; f != nil {
			f.pods = append(f.pods, p)
		}
	}
	return all, desired
}

// daemonSet says on which nodes a DaemonSet wants a pod, on which it has none yet, and how far an
// update is.
func (s *State) daemonSet(o *Object) *Reason {
	ds, ok := o.Value.(*appsv1.DaemonSet)
	if !ok || o.Deleting() || s.unseen(ds.Generation, ds.Status.ObservedGeneration) {
		return nil
	}
	nodes, desired := s.lookAtDaemons(o, ds)
	newest := s.newestRevision(o)
	var refused, wanting, left, old []string
	var from []Keeper
	have, works := 0, 0
	firstWhy, refusal := "", ""
	for _, f := range nodes {
		k := Keeper{What: "node " + f.name, Ref: f.node.Ref, Event: f.node.Changed}
		switch {
		case f.refuse != "" && len(f.pods) == 0:
			refused = append(refused, f.name)
			refusal = orElse(refusal, f.refuse)
			k.Why, k.Good = "gets no pod: "+f.refuse, true
		case f.refuse != "":
			left = append(left, f.name)
			k.Why = "is to have no pod: " + f.refuse + "; the one that it has is being deleted"
			if f.stays {
				k.Why = "would get no pod: " + f.refuse + "; the one that it has stays, because such a taint drives none away"
			}
		case len(f.pods) == 0:
			wanting = append(wanting, f.name)
			k.Why = "has no pod yet"
			firstWhy = orElse(firstWhy, f.name+" has none yet")
		default:
			have++
			pod := f.pods[0].Value.(*corev1.Pod)
			k = s.podLine(f.pods[0], pod, "for "+f.name)
			if k.Good {
				works++
			} else {
				wanting = append(wanting, f.name)
				firstWhy = orElse(firstWhy, fmt.Sprintf("%s of %s is not ready: %s", pod.Name, f.name, s.waitsOn(f.pods[0], pod)))
			}
			if newest != "" && !util.IsPodUpdated(pod, newest, generationOf(ds)) {
				old = append(old, pod.Name)
				k.Why += ", of an old revision"
			}
		}
		from = append(from, k)
	}
	a := &Reason{Says: fmt.Sprintf("%s wants a pod on %d of %s and has %s", o.Ref, desired, count(len(nodes), "node"), readyOf(works, have)), From: told(from)}
	if ds.Status.ObservedGeneration < ds.Generation {
		a.Says += fmt.Sprintf("; its controller has not looked yet at what was written last (generation %d, the status is of %d)", ds.Generation, ds.Status.ObservedGeneration)
	}
	if len(wanting) > 0 {
		a.Says += ": " + firstWhy
		if e := s.warned(o, "FailedCreate", o.At); e != nil && have < desired {
			a.Says += ": " + e.Message
		}
	}
	if len(refused) > 0 {
		a.Says += fmt.Sprintf("; %s gets none: %s", refused[0], refusal)
		if n := len(refused) - 1; n > 0 {
			a.Says += fmt.Sprintf("; nor %s", andMore(n, "node"))
		}
	}
	if len(left) > 0 {
		a.Says += fmt.Sprintf("; %s %s one that would not be made now", names(left), hasHave(len(left)))
	}
	a.Says += rollingDaemons(ds, old, desired, works)
	return s.idle(a, "DaemonSet")
}

func andMore(n int, what string) string {
	if n == 1 {
		return "does one more " + what
	}
	return fmt.Sprintf("do %d more %ss", n, what)
}

func hasHave(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

func readyOf(ready, of int) string {
	switch {
	case of == 0:
		return "none"
	case ready == of && of == 1:
		return "1, which is ready"
	case ready == of:
		return fmt.Sprintf("%d, all ready", of)
	case ready == 0 && of == 1:
		return "1, which is not ready"
	case ready == 0:
		return fmt.Sprintf("%d, none of them ready", of)
	}
	return fmt.Sprintf("%d, %d of them ready", of, ready)
}

func left(n int) string {
	if n == 1 {
		return "1 pod is"
	}
	return fmt.Sprintf("%d pods are", n)
}

// rollingDaemons says how far an update is.
func rollingDaemons(ds *appsv1.DaemonSet, old []string, desired, works int) string {
	if len(old) == 0 {
		return ""
	}
	if ds.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
		return fmt.Sprintf("; %s %s of an old revision, because spec.updateStrategy is OnDelete: each gets the new one when somebody deletes it", names(old), isAre(len(old)))
	}
	most, _ := util.UnavailableCount(ds, desired)
	surge, _ := util.SurgeCount(ds, desired)
	if surge > 0 {
		return fmt.Sprintf("; an update is under way: %s still of an old revision, each goes when the new one beside it is available, at most %d at a time (maxSurge)", left(len(old)), surge)
	}
	return fmt.Sprintf("; an update is under way: %s still of an old revision; %d of %d nodes have no available pod, and maxUnavailable is %d", left(len(old)), desired-works, desired, max(most, 1))
}

// newestRevision is the hash of the newest template that is remembered of a DaemonSet.
func (s *State) newestRevision(o *Object) (hash string) {
	_, revisions := children[*appsv1.ControllerRevision](s, o)
	most := int64(0)
	for _, r := range revisions {
		if r.Revision > most {
			most, hash = r.Revision, r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
		}
	}
	return hash
}

// generationOf is what pods of before 1.7 were told by; nil where nothing says so.
func generationOf(ds *appsv1.DaemonSet) *int64 {
	g, err := util.GetTemplateGeneration(ds)
	if err != nil {
		return nil
	}
	return g
}

// daemonPod says why a pod of a DaemonSet is on its node, and who brought it there.
func (s *State) daemonPod(o *Object) *Reason {
	pod, ok := o.Value.(*corev1.Pod)
	if !ok || o.Deleting() {
		return nil
	}
	owner := s.Owner(o)
	if owner == nil {
		return nil
	}
	if _, ok := owner.Value.(*appsv1.DaemonSet); !ok {
		return nil
	}
	name, err := util.GetTargetNodeName(pod)
	if err != nil {
		return nil
	}
	node := s.Object("nodes", "", name)
	a := sentence("%s is for %s alone: %s makes one for each node, and its node affinity (metadata.name in [%s]) leaves the scheduler no other", o.Ref, name, owner.Ref, name)
	a.From = append(a.From, Keeper{What: owner.Ref.String(), Why: "made it for " + name, Good: true, Ref: owner.Ref, Event: o.Created})
	if node == nil {
		a.From = append(a.From, Keeper{What: "node " + name, Why: "does not exist any more"})
		return a
	}
	if n, ok := node.Value.(*corev1.Node); ok {
		for _, t := range n.Spec.Taints {
			if t.Effect != corev1.TaintEffectPreferNoSchedule && corev1helpers.TolerationsTolerateTaint(klog.Background(), pod.Spec.Tolerations, &t, false) {
				a.From = append(a.From, Keeper{What: "taint " + t.ToString(), Why: "it tolerates it, so it runs there all the same" + addedBy(&t), Good: true, Ref: node.Ref, Event: node.Changed})
			}
		}
	}
	return a
}

// addedBy says that the controller gave every pod of a DaemonSet the toleration of a taint.
func addedBy(t *corev1.Taint) string {
	spec := corev1.PodSpec{}
	util.AddOrUpdateDaemonPodTolerations(&spec)
	if corev1helpers.TolerationsTolerateTaint(klog.Background(), spec.Tolerations, t, false) {
		return " (the DaemonSet controller gives every pod this toleration)"
	}
	return ""
}
