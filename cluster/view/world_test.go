package view_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/trace"
)

// world makes up the trace of a cluster at work: elections, requests, commits,
// queues, scheduling, containers, rules. It is no simulation, but its events
// have the order and the causes of one.
type world struct {
	r        *rand.Rand
	emit     func(*trace.Event)
	last     trace.ID
	at       time.Duration
	revision int64
	request  uint64
	serial   uint64
	index    uint64
	term     uint64
	leader   string
	pods     []string
	flow     uint64
}

func newWorld(seed uint64, emit func(*trace.Event)) *world {
	w := &world{r: rand.New(rand.NewPCG(seed, 1)), emit: emit, term: 1}
	w.say(trace.RunStart, "kviz", trace.Ref{}, &trace.Run{Seed: seed, Store: "raft", Members: 3, Nodes: 3})
	for _, m := range []string{"a", "b", "c"} {
		w.say(trace.MemberUp, "member/"+m, trace.Ref{}, &trace.MemberState{Member: m, Role: "follower"})
	}
	w.elect("a")
	for i := range 3 {
		node := fmt.Sprintf("node-%d", i+1)
		w.say(trace.ProcessStart, "kubelet/"+node, trace.Ref{}, &trace.Process{Process: "kubelet/" + node})
		w.say(trace.NodeStatus, "kubelet/"+node, trace.Ref{}, &trace.NodeReport{Node: node, By: "kubelet", Ready: "True"})
	}
	w.say(trace.Ready, "kviz", trace.Ref{}, nil)
	return w
}

func lane(s string) trace.Lane {
	for i := range s {
		if s[i] == '/' {
			return trace.Lane{Component: s[:i], Instance: s[i+1:]}
		}
	}
	return trace.Lane{Component: s}
}

func (w *world) say(k trace.Kind, in string, o trace.Ref, payload any, causes ...trace.ID) trace.ID {
	if k.Info().Outside {
		w.last.Sub++
	} else {
		w.last = trace.ID{Seq: w.last.Seq + 1}
	}
	w.at += time.Duration(w.r.IntN(1000)) * time.Microsecond
	w.emit(&trace.Event{ID: w.last, At: w.at, Lane: lane(in), Kind: k, Object: o, Payload: payload, Causes: causes})
	return w.last
}

func (w *world) elect(m string) {
	w.term++
	w.say(trace.MemberRole, "member/"+m, trace.Ref{}, &trace.MemberState{Member: m, Role: "candidate", Term: w.term, Last: w.index})
	w.say(trace.MemberRole, "member/"+m, trace.Ref{}, &trace.MemberState{Member: m, Role: "leader", Term: w.term, Leader: m, Last: w.index})
	w.leader = m
}

// write takes an object through the pipeline into the store and to a watcher.
func (w *world) write(pod *corev1.Pod, deleted bool, causes ...trace.ID) trace.ID {
	w.request++
	n := w.request
	ref := trace.Ref{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}
	got := w.say(trace.RequestReceived, "apiserver", ref, &trace.Request{Request: n, Verb: "update", Resource: "pods", Namespace: "demo", Name: pod.Name, Client: "kubelet/node-1"}, causes...)
	for _, s := range trace.Stages() {
		got = w.say(trace.RequestStage, "apiserver", ref, &trace.Stage{Request: n, Stage: s, Verdict: "pass"}, got)
	}
	w.index++
	entry := []trace.RaftEntry{{Index: w.index, Term: w.term, Type: "command", Size: 300}}
	w.say(trace.RaftAppend, "member/"+w.leader, trace.Ref{}, &trace.RaftLog{Member: w.leader, Entries: entry, First: w.index, Last: w.index}, got)
	for _, m := range []string{"a", "b", "c"} {
		if m == w.leader {
			continue
		}
		w.serial++
		msg := trace.RaftMessage{Serial: w.serial, RPC: "AppendEntries", From: w.leader, To: m, Term: w.term, PrevLog: w.index - 1, Entries: entry}
		w.say(trace.RaftSend, "member/"+w.leader, trace.Ref{}, &msg)
		w.say(trace.RaftAppend, "member/"+m, trace.Ref{}, &trace.RaftLog{Member: m, Entries: entry, First: w.index, Last: w.index})
		w.say(trace.RaftDurable, "member/"+m, trace.Ref{}, &trace.RaftLog{Member: m, First: w.index, Last: w.index})
		reply := msg
		reply.Answer, reply.OK, reply.Match = true, true, w.index
		w.say(trace.RaftReply, "member/"+w.leader, trace.Ref{}, &reply)
	}
	w.say(trace.RaftCommit, "member/"+w.leader, trace.Ref{}, &trace.RaftProgress{Member: w.leader, Index: w.index, Term: w.term})
	w.revision++
	change := trace.KeyChange{Key: "/registry/pods/demo/" + pod.Name, Deleted: deleted, Object: ref, Size: 300}
	if !deleted {
		change.Value = trace.Obj(pod)
	}
	commit := w.say(trace.StoreCommit, "store", ref, &trace.Commit{Revision: w.revision, Index: w.index, Changes: []trace.KeyChange{change}}, got)
	w.say(trace.RequestDone, "apiserver", ref, &trace.Response{Request: n, Verb: "update", Code: 200}, commit)
	cache := w.say(trace.WatchCacheEvent, "apiserver", ref, &trace.CacheUpdate{Resource: "pods", Type: "MODIFIED", Revision: w.revision, Watchers: 1}, commit)
	return w.say(trace.WatchDelivered, "replicaset-controller", ref, &trace.WatchEvent{Watch: 1, Client: "replicaset-controller", Type: "MODIFIED", Revision: w.revision}, cache)
}

func (w *world) reconcile(key string, causes ...trace.ID) trace.ID {
	in := "replicaset-controller"
	q := func(ready, processing int) *trace.QueueItem {
		return &trace.QueueItem{Queue: "replicaset", Key: key, Ready: ready, Processing: processing}
	}
	id := w.say(trace.QueueAdd, in, trace.Ref{}, q(1, 0), causes...)
	id = w.say(trace.QueueGet, in, trace.Ref{}, q(0, 1), id)
	id = w.say(trace.ReconcileStart, in, trace.Ref{}, &trace.Reconcile{Controller: "replicaset", Key: key}, id)
	act := w.say(trace.ReconcileAction, in, trace.Ref{}, &trace.Action{Controller: "replicaset", Key: key, Verb: "create", Why: "spec.replicas is 3, 2 pods exist: create 1"}, id)
	w.say(trace.ReconcileEnd, in, trace.Ref{}, &trace.Reconcile{Controller: "replicaset", Key: key, Result: "done"}, id)
	w.say(trace.QueueDone, in, trace.Ref{}, q(0, 0), id)
	return act
}

// round lets one thing happen.
func (w *world) round() {
	switch n := w.r.IntN(20); {
	case n == 0:
		w.elect([]string{"a", "b", "c"}[w.r.IntN(3)])
	case n == 1:
		m := []string{"b", "c"}[w.r.IntN(2)]
		w.say(trace.FaultInjected, "kviz", trace.Ref{}, &trace.Fault{Fault: "stop", Target: "member/" + m})
		w.say(trace.MemberDown, "member/"+m, trace.Ref{}, &trace.MemberState{Member: m, Role: "stopped"})
		w.say(trace.FaultHealed, "kviz", trace.Ref{}, &trace.Fault{Fault: "start", Target: "member/" + m, Undoes: []string{"stop"}})
		w.say(trace.MemberUp, "member/"+m, trace.Ref{}, &trace.MemberState{Member: m, Role: "follower", Last: w.index})
	case n < 6 && len(w.pods) > 10:
		i := w.r.IntN(len(w.pods))
		w.write(aPod(w.pods[i]), true)
		node := "node-" + fmt.Sprint(w.r.IntN(3)+1)
		w.say(trace.PodWorker, "kubelet/"+node, trace.Ref{}, &trace.PodSync{Node: node, Pod: "demo/" + w.pods[i], Work: "finished"})
		w.pods = append(w.pods[:i], w.pods[i+1:]...)
	default:
		w.newPod()
	}
}

func (w *world) newPod() {
	name := fmt.Sprintf("web-%d", w.revision)
	w.pods = append(w.pods, name)
	act := w.reconcile("demo/web")
	seen := w.write(aPod(name), false, act)
	key := "demo/" + name
	id := w.say(trace.SchedQueue, "scheduler", trace.Ref{}, &trace.SchedQueueMove{Pod: key, To: "active", Active: 1}, seen)
	id = w.say(trace.SchedCycle, "scheduler", trace.Ref{}, &trace.SchedCycleStart{Pod: key, Attempt: 1, Nodes: 3}, id)
	for i := range 3 {
		w.say(trace.SchedFilter, "scheduler", trace.Ref{}, &trace.FilterVerdict{Pod: key, Node: fmt.Sprintf("node-%d", i+1)}, id)
		w.say(trace.SchedScore, "scheduler", trace.Ref{}, &trace.NodeScore{Pod: key, Node: fmt.Sprintf("node-%d", i+1), Total: int64(i)}, id)
	}
	node := fmt.Sprintf("node-%d", w.r.IntN(3)+1)
	id = w.say(trace.SchedDecision, "scheduler", trace.Ref{}, &trace.Decision{Pod: key, Node: node, Total: 2}, id)
	id = w.write(aPod(name), false, id)
	id = w.say(trace.PodWorker, "kubelet/"+node, trace.Ref{}, &trace.PodSync{Node: node, Pod: key, Work: "sync"}, id)
	for _, call := range []string{"RunPodSandbox", "PullImage", "CreateContainer", "StartContainer"} {
		id = w.say(trace.CRICall, "runtime/"+node, trace.Ref{}, &trace.RuntimeCall{Node: node, Pod: key, Call: call}, id)
	}
	id = w.say(trace.ContainerChange, "kubelet/"+node, trace.Ref{}, &trace.ContainerState{Node: node, Pod: key, Container: "web", State: "running"}, id)
	id = w.write(aPod(name), false, id)
	for i := range 3 {
		n := fmt.Sprintf("node-%d", i+1)
		sync := w.say(trace.ProxySync, "proxy/"+n, trace.Ref{}, &trace.ProxySyncInfo{Node: n, Added: 1}, id)
		w.say(trace.RuleChange, "proxy/"+n, trace.Ref{}, &trace.Rule{Node: n, Table: "nat", Chain: "KUBE-SVC-WEB", Text: "-A KUBE-SVC-WEB -j " + name, Pos: 0}, sync)
	}
	w.flow++
	w.say(trace.PacketHop, "net/"+node, trace.Ref{}, &trace.Hop{Flow: w.flow, Node: node, Where: "KUBE-SERVICES", Verdict: "no match"})
	w.say(trace.PacketEnd, "net/"+node, trace.Ref{}, &trace.Flow{Flow: w.flow, From: key, To: "web:80", Result: "answered"})
	w.say(trace.EventRecorded, "kubelet/"+node, trace.Ref{}, &trace.KubeEvent{Type: "Normal", Reason: "Started", Regarding: trace.Ref{Kind: "Pod", Namespace: "demo", Name: name}})
}

func aPod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "demo", UID: types.UID("uid-" + name),
		OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: "uid-rs", Controller: new(bool)}},
	}}
}

// madeUp is at least n events of a world.
func madeUp(seed uint64, n int) []*trace.Event {
	var events []*trace.Event
	w := newWorld(seed, func(e *trace.Event) { events = append(events, e) })
	for len(events) < n {
		w.round()
	}
	return events
}
