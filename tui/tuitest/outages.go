package tuitest

import (
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"kviz/cluster/trace"
)

// Calm is a cluster of so many members and nodes at rest: a Deployment's two pods run behind a
// Service, and every Lease has just been renewed.
func Calm(members, nodes int) *Tape {
	t := NewTape()
	t.Emit(trace.CompSimulation, "", trace.RunStart, trace.Ref{}, &trace.Run{Version: "0.1", Seed: 7, Epoch: Epoch, Store: "raft", Members: members, Nodes: nodes})
	var names []string
	for i := range members {
		names = append(names, string(rune('a'+i)))
	}
	t.Members(names...).Elect("a")
	t.process("apiserver", trace.CompAPIServer, "")
	for _, of := range leases {
		process, lease := of[0], of[1]
		t.process(process, process, "")
		t.Emit(process, "", trace.LeaderElected, Ref("Lease", "kube-system", lease), &trace.Election{Lease: lease, Holder: process + "-0", Won: true})
	}
	for i := range nodes {
		n := fmt.Sprintf("node-%d", i+1)
		t.process("kubelet/"+n, trace.CompKubelet, n)
		t.process("proxy/"+n, trace.CompProxy, n)
		t.Commit(Ref("Node", "", n), "nodes", Node(n, "4"))
		t.heard(n, "kubelet", "True")
	}
	t.After(2 * time.Second)
	t.Emit(trace.CompConsole, "", trace.CommandStart, trace.Ref{}, &trace.Command{Line: "kubectl apply -f hello.yaml", Source: "console"})
	t.Commit(Ref("Deployment", "demo", "web"), "deployments", Deployment(2, 2))
	t.Commit(Ref("ReplicaSet", "demo", "web-7f9c"), "replicasets", ReplicaSet(2, 2, 2))
	t.Commit(Ref("Service", "demo", "web"), "services", Service())
	t.runs("web-7f9c-k2x9p", "node-1", "10.244.1.7")
	t.runs("web-7f9c-m4q7z", "node-2", "10.244.2.4")
	slice := Slice("10.244.1.7", "10.244.2.4")
	for i := range slice.Endpoints {
		slice.Endpoints[i].NodeName = ptr(fmt.Sprintf("node-%d", i+1))
	}
	t.Commit(Ref("EndpointSlice", "demo", slice.Name), "endpointslices", slice)
	t.Emit(trace.CompSimulation, "", trace.Ready, trace.Ref{}, nil)
	for _, controller := range []string{depCtl, rsCtl, epsCtl, "node-lifecycle-controller", "job-controller", "cronjob-controller"} {
		run := t.Enqueue(controller, controller, "demo/web")
		t.Finish(controller, controller, "demo/web", run)
	}
	t.After(6 * time.Second)
	for i := range nodes {
		t.Renew("kube-node-lease", fmt.Sprintf("node-%d", i+1))
	}
	for _, of := range leases {
		t.Renew("kube-system", of[1])
	}
	return t.After(2 * time.Second)
}

// leases are those of the control plane, by process.
var leases = [][2]string{{trace.CompScheduler, "kube-scheduler"}, {trace.CompKCM, "kube-controller-manager"}}

// Renew renews a Lease.
func (t *Tape) Renew(namespace, name string) {
	t.Commit(Ref("Lease", namespace, name), "leases", &coordinationv1.Lease{ObjectMeta: meta("Lease", namespace, name, nil)})
}

// heard is what somebody says of a node.
func (t *Tape) heard(node, by, ready string, taints ...string) {
	lane, instance := by, ""
	if by == trace.CompKubelet {
		instance = node
	}
	t.Emit(lane, instance, trace.NodeStatus, Ref("Node", "", node), &trace.NodeReport{
		Node: node, By: by, Ready: ready, Conditions: map[string]string{"Ready": ready}, Taints: taints,
	})
}

// runs has a pod run on a node, as its kubelet sees it and as it is written down.
func (t *Tape) runs(pod, node, ip string) {
	ref := Ref("Pod", "demo", pod)
	t.Emit(trace.CompKubelet, node, trace.PodAdmit, ref, &trace.PodSync{Node: node, Pod: "demo/" + pod, Work: "admitted"})
	t.Emit(trace.CompKubelet, node, trace.ContainerChange, ref, &trace.ContainerState{Node: node, Pod: "demo/" + pod, Container: "web", State: "running"})
	t.Commit(ref, "pods", Pod("demo", pod, "web-7f9c", node, "Ready", ip))
}

// fault breaks something.
func (t *Tape) fault(fault, target, detail string) trace.ID {
	return t.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: fault, Target: target, Detail: detail})
}

// asks has somebody ask the API server, whose request comes as far as the store.
func (t *Tape) asks(client, verb, resource, name string) (request uint64) {
	t.req++
	t.Emit(trace.CompAPIServer, "", trace.RequestReceived, trace.Ref{}, &trace.Request{Request: t.req, Verb: verb, Resource: resource, Name: name, Client: client})
	for _, stage := range trace.Stages() {
		t.Emit(trace.CompAPIServer, "", trace.RequestStage, trace.Ref{}, &trace.Stage{Request: t.req, Stage: stage, Verdict: "pass"})
	}
	return t.req
}

// refuses has the store give up on a request.
func (t *Tape) refuses(request uint64, op string, took time.Duration) {
	t.Emit(trace.CompStore, "", trace.StoreRefused, trace.Ref{}, &trace.StoreError{Op: op, Key: "/registry/x", Error: "etcdserver: request timed out"})
	t.Emit(trace.CompAPIServer, "", trace.RequestDone, trace.Ref{}, &trace.Response{Request: request, Verb: "update", Code: 500, Took: took})
}

// LeaderDead is the moment after the leader has died and before anybody stands for election: a
// write waits at the store, and the others' election timeouts are running.
func LeaderDead() *Tape { return LeaderDeadOf(3) }

// LeaderDeadOf is the same of a store of so many members.
func LeaderDeadOf(members int) *Tape {
	t := Calm(members, 3)
	t.Down("a", "crashed", t.fault("crash", "member/a", ""))
	t.asks("console", "patch", "deployments", "web")
	t.After(200 * time.Millisecond)
	for i, member := range t.order[1:] {
		left := min(i+1, 4)
		t.Emit(trace.CompMember, member, trace.RaftTimeout, trace.Ref{}, &trace.RaftPatience{Member: member, Leader: "a", Left: left, AtLeast: 250 * time.Millisecond, AtMost: 500 * time.Millisecond})
	}
	return t.After(200 * time.Millisecond)
}

// QuorumLost is a cluster some time after two of three members have died.
func QuorumLost(after time.Duration) *Tape { return QuorumLostOf(3, after) }

// QuorumLostOf is the same of a store of so many members, of which just those are left that are no quorum.
func QuorumLostOf(members int, after time.Duration) *Tape {
	t := Calm(members, 3)
	for _, m := range slices.Clone(t.order[:members/2+1]) {
		t.Down(m, "crashed", t.fault("crash", "member/"+m, ""))
	}
	mine := t.asks("console", "patch", "deployments", "web")
	theirs := t.asks("kubelet/node-1", "update", "leases", "node-1")
	end := t.at + after
	til := func(at time.Duration) bool {
		if t.at = end - after + at; t.at > end {
			t.at = end
		}
		return at <= after
	}
	if til(7 * time.Second) {
		t.refuses(theirs, "txn", 7*time.Second)
		t.refuses(t.asks(trace.CompScheduler, "get", "leases", "kube-scheduler"), "range", 5*time.Second)
	}
	for _, of := range leases {
		if process, lease := of[0], of[1]; til(10 * time.Second) {
			lost := t.Emit(process, "", trace.LeaderElected, Ref("Lease", "kube-system", lease), &trace.Election{Lease: lease, Holder: process + "-0"})
			t.Emit(process, "", trace.ProcessExit, trace.Ref{}, &trace.Process{Process: process, Reason: "it lost its Lease"}, lost)
			t.process(process, process, "")
		}
	}
	if til(55 * time.Second) {
		t.refuses(mine, "txn", 55*time.Second)
		t.refuses(t.asks(trace.CompKCM, "get", "leases", "kube-controller-manager"), "range", 5*time.Second)
		t.asks("console", "update", "deployments", "web")
	}
	t.at = end
	t.Emit(trace.CompKubelet, "node-1", trace.PodWorker, trace.Ref{}, &trace.PodSync{Node: "node-1", Pod: "demo/web-7f9c-k2x9p", Work: "sync"})
	return t
}

// NodeLost is a cluster from which a node has been cut off for some time: the node is
// healthy, but nobody knows.
func NodeLost() *Tape {
	t := Calm(3, 3)
	t.fault("cut", "node/node-2", "")
	t.After(50 * time.Second)
	t.Renew("kube-node-lease", "node-1")
	t.Renew("kube-node-lease", "node-3")
	t.heard("node-2", "node-lifecycle-controller", "Unknown", "node.kubernetes.io/unreachable:NoSchedule", "node.kubernetes.io/unreachable:NoExecute")
	t.Commit(Ref("Pod", "demo", "web-7f9c-m4q7z"), "pods", Pod("demo", "web-7f9c-m4q7z", "web-7f9c", "node-2", "Running", "10.244.2.4"))
	t.After(3 * time.Second)
	t.Renew("kube-node-lease", "node-1")
	return t
}

// NodeDead is a cluster in which a node has just lost power, and nobody knows yet.
func NodeDead() *Tape {
	t := Calm(3, 3)
	f := t.fault("stop", "node/node-2", "")
	for _, process := range []string{trace.CompKubelet, trace.CompProxy} {
		t.Emit(process, "node-2", trace.ProcessExit, trace.Ref{}, &trace.Process{Process: process + "/node-2", Reason: "the node lost power"}, f)
	}
	t.After(9 * time.Second)
	t.Renew("kube-node-lease", "node-1")
	t.Renew("kube-node-lease", "node-3")
	return t
}

// Split is a store of five members in which a and b reach nobody else: c leads the others, and
// a still believes that it leads.
func Split() *Tape {
	t := Calm(5, 3)
	t.fault("partition", "store", "a,b c,d,e")
	t.After(400 * time.Millisecond)
	t.Emit(trace.CompMember, "b", trace.RaftTimeout, trace.Ref{}, &trace.RaftPatience{Member: "b", Leader: "a", Left: 2, AtLeast: 250 * time.Millisecond, AtMost: 500 * time.Millisecond})
	t.term++
	t.role("c", "leader", t.term, "c")
	for _, m := range []string{"d", "e"} {
		t.role(m, "follower", t.term, "c")
	}
	t.leader, t.order = "c", []string{"c", "d", "e"}
	t.Renew("kube-system", "kube-scheduler")
	return t
}

// Unplaced is a cluster in which a command's pod has been waiting for five seconds for a node that
// can take it.
func Unplaced() *Tape {
	t := Calm(3, 3)
	cmd := t.Emit(trace.CompConsole, "", trace.CommandStart, trace.Ref{}, &trace.Command{Line: "kubectl run greedy --image=nginx", Source: "console"})
	ref := Ref("Pod", "demo", "greedy")
	c := t.Request(Call{Verb: "create", Resource: "pods", Ref: ref, Client: "console", Object: Pod("demo", "greedy", "", "", "", "")}, cmd)
	cycle := t.Emit(trace.CompScheduler, "", trace.SchedCycle, ref, &trace.SchedCycleStart{Pod: "demo/greedy", Attempt: 1, Nodes: 3}, c)
	var verdicts []trace.ID
	for _, n := range []string{"node-1", "node-2", "node-3"} {
		verdicts = append(verdicts, t.Emit(trace.CompScheduler, "", trace.SchedFilter, ref, &trace.FilterVerdict{
			Pod: "demo/greedy", Node: n, By: "NodeResourcesFit", Code: "Unschedulable", Reasons: []string{"Insufficient cpu"},
		}, cycle))
	}
	t.Emit(trace.CompScheduler, "", trace.SchedDecision, ref, &trace.Decision{Pod: "demo/greedy", Evaluated: 3, Message: "0/3 nodes are available: 3 Insufficient cpu."}, verdicts...)
	t.After(5*time.Second).Renew("kube-node-lease", "node-1")
	return t
}

// ManyNodes is a cluster of many nodes with three pods on each; of every hundred one is silent.
func ManyNodes(nodes int) *Tape {
	t := Calm(3, nodes)
	for i := range nodes {
		n := fmt.Sprintf("node-%d", i+1)
		for k := range i%5 + 1 {
			name := fmt.Sprintf("load-%d-%d", i+1, k)
			t.Commit(Ref("Pod", "demo", name), "pods", Pod("demo", name, "web-7f9c", n, "Ready", "10.244.9.9"))
		}
		if i%100 == 17 {
			t.heard(n, "node-lifecycle-controller", "Unknown")
		}
	}
	return t
}

// Busy is such a cluster in which so much goes on: for some seconds Leases are renewed, none at
// all for three of them, nodes wait to be looked at, and pods get a node.
func Busy(nodes int) *Tape {
	t := ManyNodes(nodes)
	for second := range 14 {
		t.at = t.at.Truncate(time.Second) + time.Second
		for i := range 20 + second%3 {
			if second < 8 || second > 10 {
				t.Renew("kube-node-lease", fmt.Sprintf("node-%d", second*20+i+1))
			}
		}
		t.Emit("node-lifecycle-controller", "", trace.QueueAdd, trace.Ref{}, &trace.QueueItem{Queue: "node_lifecycle_controller", Key: "node-18", Ready: second * second / 9})
		for i := range second % 4 {
			t.Emit(trace.CompScheduler, "", trace.SchedBind, trace.Ref{}, &trace.Decision{Pod: fmt.Sprintf("demo/load-%d-0", i+1), Node: "node-1"})
		}
	}
	t.at = t.at.Truncate(time.Second) + time.Second
	t.Renew("kube-node-lease", "node-1")
	return t
}
