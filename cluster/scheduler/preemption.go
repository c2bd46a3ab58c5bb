package scheduler

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	v1helper "k8s.io/component-helpers/scheduling/corev1"

	"kviz/cluster/client"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/scheduler/plugins/defaultpreemption"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// nominator remembers for which pods room is being made where.
//
// Mirrors pkg/scheduler/backend/queue/nominator.go nominator.
type nominator struct {
	node map[string]string               // pod key -> node
	pods map[string][]*framework.PodInfo // node -> pods, in the order of nomination
}

func newNominator() *nominator {
	return &nominator{node: map[string]string{}, pods: map[string][]*framework.PodInfo{}}
}

func (n *nominator) set(pod *framework.PodInfo, node string) {
	n.remove(pod.Key)
	if node != "" {
		n.node[pod.Key] = node
		n.pods[node] = append(n.pods[node], pod)
	}
}

func (n *nominator) remove(key string) {
	node, ok := n.node[key]
	if !ok {
		return
	}
	delete(n.node, key)
	n.pods[node] = slices.DeleteFunc(n.pods[node], func(p *framework.PodInfo) bool { return p.Key == key })
	if len(n.pods[node]) == 0 {
		delete(n.pods, node)
	}
}

// on gives the pods nominated to the node that pod has to respect.
func (n *nominator) on(node *framework.NodeInfo, pod *framework.PodInfo) []*framework.PodInfo {
	if len(n.pods) == 0 {
		return nil
	}
	var pods []*framework.PodInfo
	for _, p := range n.pods[node.Node.Name] {
		if p.Key == pod.Key || v1helper.PodPriority(p.Pod) < v1helper.PodPriority(pod.Pod) {
			continue
		}
		pods = append(pods, p)
	}
	return pods
}

// nominatedNode is the node on which room was made for the pod, if it fits now.
func (s *Scheduler) nominatedNode(state *framework.CycleState, info *framework.QueuedPodInfo, only map[string]bool) *framework.NodeInfo {
	name, ok := s.nominator.node[info.Key]
	if !ok || only != nil && !only[name] {
		return nil
	}
	node := s.cache.nodes[name]
	if node == nil || node.Node == nil {
		return nil
	}
	if _, st := s.runFilters(state, info.PodInfo, node, s.activeFilters(state)); st != nil {
		return nil
	}
	return node
}

// runPostFilter lets plugins make room for a later attempt; what they say
// becomes part of the pod's message. The first that succeeds, or fails, is the last.
//
// Mirrors framework/runtime/framework.go RunPostFilterPlugins.
func (s *Scheduler) runPostFilter(t *sim.Task, info *framework.QueuedPodInfo, state *framework.CycleState, fit *framework.FitError, d *trace.Decision) {
	var reasons []string
	for _, pl := range s.profile.postFilter {
		res, st := pl.PostFilter(t, state, info.Pod, &fit.Diagnosis.Statuses)
		reasons = append(reasons, st.Reasons()...)
		fit.Diagnosis.PostFilterMsg = strings.Join(reasons, ", ")
		last := st.Code() != framework.Unschedulable
		if last {
			fit.Diagnosis.PostFilterMsg = st.Message()
		}
		if res != nil {
			d.Nominated, d.Victims = res.NominatedNode, res.Victims
			d.Candidates, d.Because = s.candidates(res), res.Because
			s.nominator.set(info.PodInfo, res.NominatedNode)
		}
		if last {
			break
		}
	}
	emitPoint(t, info, framework.PostFilter, pluginNames(s.profile.postFilter), fit.Diagnosis.PostFilterMsg)
}

// candidates are those of the dry run that the trace shows, the nominated one first.
func (s *Scheduler) candidates(res *framework.PostFilterResult) []trace.PreemptionCandidate {
	list := res.Candidates
	slices.SortStableFunc(list, func(a, b trace.PreemptionCandidate) int {
		nominated := func(c *trace.PreemptionCandidate) int {
			if c.Node == res.NominatedNode {
				return 0
			}
			return 1
		}
		return nominated(&a) - nominated(&b)
	})
	return list[:min(len(list), s.shows())]
}

// nominate writes the pod's nomination, and evicts the victims.
//
// Mirrors framework/preemption/executor.go actuatePodPreemption.
func (s *Scheduler) nominate(t *sim.Task, info *framework.QueuedPodInfo, d *trace.Decision) {
	if _, still := s.nominator.node[info.Key]; d.Nominated != info.Pod.Status.NominatedNodeName && still == (d.Nominated != "") {
		s.patchStatus(t, info.Pod, map[string]any{"nominatedNodeName": orNull(d.Nominated)})
	}
	if d.Nominated == "" {
		return
	}
	// Pods of lower priority that were to come here may not fit any more.
	for _, p := range slices.Clone(s.nominator.pods[d.Nominated]) {
		if v1helper.PodPriority(p.Pod) < v1helper.PodPriority(info.Pod) {
			s.nominator.remove(p.Key)
			s.patchStatus(t, p.Pod, map[string]any{"nominatedNodeName": nil})
		}
	}
	for _, key := range d.Victims {
		if victim := s.cache.pods[key].info; victim != nil && victim.Pod.DeletionTimestamp == nil {
			s.preempting[info.Pod.UID] = append(s.preempting[info.Pod.UID], victim.Pod)
			s.evict(t, info.Pod, victim.Pod, d.Nominated)
		}
	}
}

// Preempting reports whether a pod's victims are still to be evicted: the scheduler has not
// seen of all of them that they go.
//
// Mirrors framework/preemption/executor.go IsPodRunningPreemption, which does not wait
// for what it sees once all evictions were answered.
func (s *Scheduler) Preempting(pod *corev1.Pod) bool {
	victims, ok := s.preempting[pod.UID]
	if !ok {
		return false
	}
	left := slices.DeleteFunc(victims, func(victim *corev1.Pod) bool {
		now := s.cache.pods[framework.PodKey(victim)].info
		return now == nil || now.Pod.UID != victim.UID || now.Pod.DeletionTimestamp != nil
	})
	if s.preempting[pod.UID] = left; len(left) == 0 {
		delete(s.preempting, pod.UID)
	}
	return len(left) > 0
}

// spared takes back that a victim is to be evicted, because that failed. The preemptor is
// tried again after a back-off: if no victim goes, nothing else may happen that helps it.
//
// Mirrors framework/preemption/executor.go prepareCandidateAsync, which activates the
// preemptor at once: beside an API server that is down, as often as the rate limit allows.
func (s *Scheduler) spared(t *sim.Task, preemptor, victim *corev1.Pod) {
	left := slices.DeleteFunc(s.preempting[preemptor.UID], func(p *corev1.Pod) bool { return p.UID == victim.UID })
	if s.preempting[preemptor.UID] = left; len(left) == 0 {
		delete(s.preempting, preemptor.UID)
		s.queue.retry(t, framework.PodKey(preemptor), forceActivate)
	}
}

// preempted notes that a victim has given up its place at Permit. No deletion of it brings the
// preemptor back.
func (s *Scheduler) preempted(t *sim.Task, preemptor, victim *corev1.Pod) {
	left := slices.DeleteFunc(s.preempting[preemptor.UID], func(p *corev1.Pod) bool { return p.UID == victim.UID })
	if s.preempting[preemptor.UID] = left; len(left) == 0 {
		delete(s.preempting, preemptor.UID)
		t.Yield() // to the victim's binding cycle, which makes the room
		s.queue.activate(t, framework.PodKey(preemptor))
	}
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// evict marks a victim as preempted and deletes it, with its grace period.
func (s *Scheduler) evict(t *sim.Task, preemptor, victim *corev1.Pod, node string) {
	patch := statusPatch(victim, map[string]any{"conditions": []corev1.PodCondition{{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler,
		Message:            schedulerName(preemptor) + ": preempting to accommodate a higher priority pod",
		LastTransitionTime: client.Now(t), ObservedGeneration: victim.Generation,
	}}}, "")
	causes := t.Causes()
	s.process.Go("preempt "+framework.PodKey(victim), func(t *sim.Task) {
		t.SetCauses(causes...)
		var err error
		if t.HandleCrashOn(client.RefOf(victim), "the eviction of the pod", func() { err = s.preempt(t, preemptor, victim, node, patch) }) != nil || err != nil {
			s.spared(t, preemptor, victim)
		}
	})
}

// preempt marks a victim and deletes it; one that waits at Permit only has to give up its place.
// One that is gone already is no error.
//
// Mirrors framework/preemption/executor.go PreemptPod. The Event is related to nothing there: what is handed over as the
// related object is not of a type that the recorder's scheme knows.
func (s *Scheduler) preempt(t *sim.Task, preemptor, victim *corev1.Pod, node string, patch []byte) error {
	events := s.profileOf(preemptor).events
	if w := s.waiting[victim.UID]; w != nil && w.preempt(defaultpreemption.Name, "preempted", t.Causes()) {
		events.Eventf(t, victim, nil, corev1.EventTypeNormal, "Preempted", "Preempting", "Preempted by pod %v on node %v (in kube-scheduler memory).", preemptor.UID, node)
		s.preempted(t, preemptor, victim)
		return nil
	}
	_, err := s.client.Patch(t, client.Pods, victim.Namespace, victim.Name, types.StrategicMergePatchType, patch, "status")
	if err == nil {
		err = s.client.Delete(t, client.Pods, victim.Namespace, victim.Name, metav1.DeleteOptions{})
	}
	if err == nil {
		events.Eventf(t, victim, nil, corev1.EventTypeNormal, "Preempted", "Preempting", "Preempted by pod %v on node %v", preemptor.UID, node)
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// patchStatus changes a pod's status in a task of its own, so that the next pod
// need not wait; if it fails, the next attempt brings another.
func (s *Scheduler) patchStatus(t *sim.Task, pod *corev1.Pod, status map[string]any) {
	patch, causes := statusPatch(pod, status, s.why), t.Causes()
	s.process.Go("status "+framework.PodKey(pod), func(t *sim.Task) {
		t.SetCauses(causes...)
		_ = t.HandleCrashOn(client.RefOf(pod), "the status of the pod", func() {
			_, _ = s.client.Patch(t, client.Pods, pod.Namespace, pod.Name, types.StrategicMergePatchType, patch, "status")
		})
	})
}

// statusPatch is a patch of a pod's status; why is the annotation that goes with it, "" if none does.
func statusPatch(pod *corev1.Pod, status map[string]any, why string) []byte {
	of := map[string]any{"uid": pod.UID}
	if why != "" {
		of["annotations"] = map[string]string{WhyAnnotation: why}
	}
	patch, err := json.Marshal(map[string]any{"metadata": of, "status": status})
	if err != nil {
		panic("scheduler: a pod's status does not marshal: " + err.Error())
	}
	return patch
}

// Nodes lists the nodes in the order in which they are tried.
func (s *Scheduler) Nodes() []*framework.NodeInfo { return s.cache.list() }

// AddPod puts a pod on a node, and tells the plugins of the cycle.
func (s *Scheduler) AddPod(state *framework.CycleState, pod *corev1.Pod, p *framework.PodInfo, node *framework.NodeInfo) {
	node.AddPod(p)
	for _, pl := range s.profile.preFilterExtensions {
		if !state.SkipFilter[pl.Name()] {
			pl.AddPod(state, pod, p, node)
		}
	}
}

// RemovePod takes a pod off a node, and tells the plugins of the cycle.
func (s *Scheduler) RemovePod(state *framework.CycleState, pod *corev1.Pod, p *framework.PodInfo, node *framework.NodeInfo) {
	node.RemovePod(p.Key)
	for _, pl := range s.profile.preFilterExtensions {
		if !state.SkipFilter[pl.Name()] {
			pl.RemovePod(state, pod, p, node)
		}
	}
}

// Fits judges one node for the pod of the cycle.
func (s *Scheduler) Fits(state *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) *framework.Status {
	info := state.Pod
	if info == nil || info.Pod != pod {
		info = framework.NewPodInfo(pod)
	}
	_, st := s.runFilters(state, info, node, s.activeFilters(state))
	return st
}
