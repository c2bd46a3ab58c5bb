package tuitest

import (
	"fmt"
	"time"

	"kviz/cluster/trace"
)

// Story is the whole story: boot, a deployment of three pods, one of which finds no
// node, a Service, a packet, a refused request, and the loss of two members of the
// store.
func Story() *Tape {
	t := NewTape()
	t.boot()
	pods := t.deploy()
	t.service(pods)
	t.trouble()
	return t
}

const (
	depCtl = "deployment-controller"
	rsCtl  = "replicaset-controller"
	epsCtl = "endpointslice-controller"
)

func (t *Tape) process(name, comp, inst string) {
	t.Emit(comp, inst, trace.ProcessStart, trace.Ref{}, &trace.Process{Process: name})
}

func (t *Tape) boot() {
	t.Emit(trace.CompSimulation, "", trace.RunStart, trace.Ref{}, &trace.Run{Version: "0.1", Seed: 7, Epoch: Epoch, Store: "raft", Members: 3, Nodes: 3})
	t.Members("a", "b", "c")
	t.Elect("a")
	t.process("apiserver", trace.CompAPIServer, "")
	t.process("controller-manager", trace.CompKCM, "")
	t.process("scheduler", trace.CompScheduler, "")
	for i := 1; i <= 3; i++ {
		n := fmt.Sprintf("node-%d", i)
		t.After(20 * time.Millisecond)
		t.process("kubelet/"+n, trace.CompKubelet, n)
		t.process("proxy/"+n, trace.CompProxy, n)
		ref := Ref("Node", "", n)
		c := t.Request(Call{Verb: "create", Resource: "nodes", Ref: ref, Client: "kubelet/" + n, User: "system:node:" + n, Object: Node(n, "2")})
		t.Emit(trace.CompKubelet, n, trace.NodeStatus, ref, &trace.NodeReport{
			Node: n, By: "kubelet", Ready: "True",
			Conditions: map[string]string{"Ready": "True", "MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False"},
		}, c)
	}
	t.Emit("node-lifecycle-controller", "", trace.NodeStatus, Ref("Node", "", "node-2"), &trace.NodeReport{
		Node: "node-2", By: "kubelet", Ready: "True",
		Conditions: map[string]string{"Ready": "True", "MemoryPressure": "False"}, Taints: []string{"dedicated=gpu:NoSchedule"},
	})
	for _, d := range []string{"kube-proxy-1", "coredns-5d7"} {
		ref := Ref("Pod", "kube-system", d)
		node := map[string]string{"kube-proxy-1": "node-1", "coredns-5d7": "node-3"}[d]
		t.Request(Call{Verb: "create", Resource: "pods", Ref: ref, Client: "kcm", Object: Pod("kube-system", d, "", node, "Ready", "10.244.0.2")})
	}
	t.Emit(trace.CompKCM, "", trace.LeaderElected, trace.Ref{}, &trace.Election{Lease: "kube-controller-manager", Holder: "kcm-0", Won: true})
	t.Emit(trace.CompSimulation, "", trace.Ready, trace.Ref{}, nil)
}

// deploy applies the deployment and follows it until two pods run.
func (t *Tape) deploy() []string {
	t.After(2 * time.Second)
	cmd := t.Emit(trace.CompConsole, "", trace.CommandStart, trace.Ref{}, &trace.Command{Line: "kubectl apply -f hello.yaml", Source: "console"})
	dep := Ref("Deployment", "demo", "web")
	c := t.Request(Call{
		Verb: "create", Resource: "deployments", Ref: dep, Client: "console", User: "kubernetes-admin", Object: Deployment(3, 0),
		Defaults: []trace.FieldDiff{{Path: "spec.strategy.type", To: `"RollingUpdate"`}, {Path: "spec.revisionHistoryLimit", To: "10"}, {Path: "spec.progressDeadlineSeconds", To: "600"}},
	}, cmd)
	t.Emit(trace.CompConsole, "", trace.CommandEnd, trace.Ref{}, &trace.Command{Line: "kubectl apply -f hello.yaml", Source: "console", Output: "deployment.apps/web created"}, cmd)
	w := t.Watched(c, "deployments", "ADDED", Deployment(3, 0), dep, depCtl)
	run := t.Enqueue(depCtl, "deployment", "demo/web", w...)
	rs := Ref("ReplicaSet", "demo", "web-7f9c")
	act := t.Emit(depCtl, "", trace.ReconcileAction, dep, &trace.Action{
		Controller: "deployment", Key: "demo/web", Verb: "create", Target: rs,
		Why: "no ReplicaSet has this pod template: create one with 3 replicas", Desired: "1 ReplicaSet", Observed: "0",
	}, run)
	c = t.Request(Call{Verb: "create", Resource: "replicasets", Ref: rs, Client: depCtl, Object: ReplicaSet(3, 0, 0)}, act)
	t.Finish(depCtl, "deployment", "demo/web", act)
	w = t.Watched(c, "replicasets", "ADDED", ReplicaSet(3, 0, 0), rs, rsCtl, depCtl)
	t.Emit(depCtl, "", trace.QueueAdd, trace.Ref{}, &trace.QueueItem{Queue: "deployment", Key: "demo/web", Ready: 1}, w[1])
	run = t.Enqueue(rsCtl, "replicaset", "demo/web-7f9c", w[0])
	act = t.Emit(rsCtl, "", trace.ReconcileAction, rs, &trace.Action{
		Controller: "replicaset", Key: "demo/web-7f9c", Verb: "create", Target: rs,
		Why: "spec.replicas is 3, 0 pods exist: create 3", Desired: "3", Observed: "0",
	}, run)
	var names []string
	for _, suffix := range []string{"k2x9p", "m4q7z", "x9b2c"} {
		name := "web-7f9c-" + suffix
		names = append(names, name)
		ref := Ref("Pod", "demo", name)
		pod := Pod("demo", name, "web-7f9c", "", "", "")
		c = t.Request(Call{
			Verb: "create", Resource: "pods", Ref: ref, Client: rsCtl, User: "system:serviceaccount:kube-system:replicaset-controller", Object: pod,
			Defaults:  []trace.FieldDiff{{Path: "spec.restartPolicy", To: `"Always"`}},
			Admission: []trace.FieldDiff{{Path: "spec.serviceAccountName", To: `"default"`}, {Path: "spec.volumes[0]", To: `{"name":"kube-api-access-x","projected":{…}}`}},
		}, act)
		w = t.Watched(c, "pods", "ADDED", pod, ref, trace.CompScheduler, rsCtl)
		t.Emit(trace.CompScheduler, "", trace.SchedQueue, ref, &trace.SchedQueueMove{Pod: "demo/" + name, To: "active", Event: "EventUnscheduledPodAdd", Active: len(names)}, w[0])
		t.Emit(rsCtl, "", trace.QueueAdd, trace.Ref{}, &trace.QueueItem{Queue: "replicaset", Key: "demo/web-7f9c", Processing: 1, Merged: len(names) > 1}, w[1])
	}
	t.Emit(rsCtl, "", trace.EventRecorded, rs, &trace.KubeEvent{Type: "Normal", Reason: "SuccessfulCreate", Message: "Created pod: web-7f9c-k2x9p", From: rsCtl, Regarding: rs, Count: 3}, act)
	t.Finish(rsCtl, "replicaset", "demo/web-7f9c", act)
	t.schedule(names[0], "node-1", 313)
	t.start(names[0], "node-1", "10.244.1.7")
	t.schedule(names[1], "node-3", 288)
	t.start(names[1], "node-3", "10.244.3.4")
	t.pending(names[2])
	return names
}

func (t *Tape) verdicts(pod string, nodes map[string]string, cause trace.ID) []trace.ID {
	all := []string{"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeBinding", "PodTopologySpread"}
	var out []trace.ID
	for _, n := range []string{"node-1", "node-2", "node-3"} {
		v := &trace.FilterVerdict{Pod: "demo/" + pod, Node: n}
		for _, p := range all {
			if p == nodes[n] {
				v.By, v.Code = p, "Unschedulable"
				v.Reasons = []string{map[string]string{"TaintToleration": "node(s) had untolerated taint {dedicated: gpu}", "NodeResourcesFit": "Insufficient cpu"}[p]}
				break
			}
			v.Passed = append(v.Passed, p)
		}
		out = append(out, t.Emit(trace.CompScheduler, "", trace.SchedFilter, Ref("Pod", "demo", pod), v, cause))
	}
	return out
}

func (t *Tape) schedule(pod, node string, total int64) {
	ref := Ref("Pod", "demo", pod)
	cy := t.Emit(trace.CompScheduler, "", trace.SchedCycle, ref, &trace.SchedCycleStart{Pod: "demo/" + pod, Attempt: 1, Nodes: 3})
	t.After(time.Millisecond)
	t.Emit(trace.CompScheduler, "", trace.SchedPoint, ref, &trace.ExtensionPoint{Pod: "demo/" + pod, Point: "PreFilter", Plugins: []string{"NodeResourcesFit", "PodTopologySpread"}}, cy)
	t.verdicts(pod, map[string]string{"node-2": "TaintToleration"}, cy)
	for _, n := range []string{"node-1", "node-3"} {
		sum := total - 25
		if n == node {
			sum = total
		}
		t.Emit(trace.CompScheduler, "", trace.SchedScore, ref, &trace.NodeScore{Pod: "demo/" + pod, Node: n, Total: sum, Scores: []trace.PluginScore{
			{Plugin: "NodeResourcesBalancedAllocation", Raw: 62, Normalized: 62, Weight: 1, Weighted: 62, How: "cpu 25 % and memory 3 % used: a standard deviation of 0.11"},
			{Plugin: "NodeResourcesFit", Raw: 71, Normalized: 71, Weight: 1, Weighted: 71, How: "LeastAllocated: 75 % of the cpu and 97 % of the memory stay free"},
			{Plugin: "PodTopologySpread", Raw: 4, Normalized: 90, Weight: 2, Weighted: sum - 133, How: "fewest matching pods in the zone"},
		}}, cy)
	}
	d := t.Emit(trace.CompScheduler, "", trace.SchedDecision, ref, &trace.Decision{Pod: "demo/" + pod, Node: node, Total: total, Evaluated: 3, Feasible: 2}, cy)
	bound := Pod("demo", pod, "web-7f9c", node, "", "")
	c := t.Request(Call{Verb: "create", Resource: "pods", Sub: "binding", Ref: ref, Client: trace.CompScheduler, User: "system:kube-scheduler", Object: bound}, d)
	t.Emit(trace.CompScheduler, "", trace.SchedBind, ref, &trace.Decision{Pod: "demo/" + pod, Node: node, Total: total}, c)
	t.Emit(trace.CompScheduler, "", trace.EventRecorded, ref, &trace.KubeEvent{
		Type: "Normal", Reason: "Scheduled", Message: "Successfully assigned demo/" + pod + " to " + node,
		From: "default-scheduler", Regarding: ref, Count: 1,
	}, d)
	t.Watched(c, "pods", "MODIFIED", bound, ref, "kubelet/"+node)
}

func (t *Tape) pending(pod string) {
	ref := Ref("Pod", "demo", pod)
	cy := t.Emit(trace.CompScheduler, "", trace.SchedCycle, ref, &trace.SchedCycleStart{Pod: "demo/" + pod, Attempt: 1, Nodes: 3})
	t.verdicts(pod, map[string]string{"node-1": "NodeResourcesFit", "node-2": "TaintToleration", "node-3": "NodeResourcesFit"}, cy)
	d := t.Emit(trace.CompScheduler, "", trace.SchedDecision, ref, &trace.Decision{
		Pod: "demo/" + pod, Evaluated: 3,
		Message: "0/3 nodes are available: 1 node(s) had untolerated taint {dedicated: gpu}, 2 Insufficient cpu.",
		Reasons: map[string]int{"Insufficient cpu": 2, "node(s) had untolerated taint {dedicated: gpu}": 1},
		Changes: []trace.NodeChange{
			{Node: "node-2", Steps: []trace.ChangeStep{{What: "remove the taint dedicated=gpu:NoSchedule", Or: "tolerate it"}}},
			{Node: "node-1", Steps: []trace.ChangeStep{{What: "250m more free cpu", Or: "request at most 50m"}}, Evict: []string{"demo/web-7f9c-k2x9p"}},
			{Node: "node-3", Steps: []trace.ChangeStep{{What: "300m more free cpu", Or: "request no cpu"}}, Evict: []string{"demo/web-7f9c-m4q7z"}},
		},
	}, cy)
	t.Emit(trace.CompScheduler, "", trace.EventRecorded, ref, &trace.KubeEvent{
		Type: "Warning", Reason: "FailedScheduling",
		Message: "0/3 nodes are available: 1 node(s) had untolerated taint {dedicated: gpu}, 2 Insufficient cpu.", From: "default-scheduler", Regarding: ref, Count: 1,
	}, d)
	t.Emit(trace.CompScheduler, "", trace.SchedQueue, ref, &trace.SchedQueueMove{Pod: "demo/" + pod, From: "active", To: "unschedulable", Event: "ScheduleAttemptFailure", Attempts: 1, Unschedulable: 1, Rejected: []string{"NodeResourcesFit", "TaintToleration"}}, d)
}

// start brings a pod up on its node.
func (t *Tape) start(pod, node, ip string) {
	key, ref := "demo/"+pod, Ref("Pod", "demo", pod)
	last := t.Emit(trace.CompKubelet, node, trace.PodAdmit, ref, &trace.PodSync{Node: node, Pod: key, Work: "admitted"})
	last = t.Emit(trace.CompKubelet, node, trace.PodWorker, ref, &trace.PodSync{Node: node, Pod: key, Work: "sync"}, last)
	last = t.Emit(trace.CompKubelet, node, trace.VolumesMounted, ref, &trace.PodStep{Node: node, Pod: key, What: "volumes mounted", Detail: "kube-api-access-x"}, last)
	call := func(comp string, kind trace.Kind, call, ctr, arg, result string, took time.Duration) {
		t.After(took)
		last = t.Emit(comp, node, kind, ref, &trace.RuntimeCall{Node: node, Pod: key, Container: ctr, Call: call, Arg: arg, Result: result, Took: took}, last)
	}
	call(trace.CompRuntime, trace.CNICall, "ADD", "", "eth0", ip, 40*time.Millisecond)
	call(trace.CompRuntime, trace.CRICall, "RunPodSandbox", "", "", "sb-91", 120*time.Millisecond)
	call(trace.CompRuntime, trace.CRICall, "PullImage", "web", "nginx:1.27", "sha256:6ad1", 1900*time.Millisecond)
	call(trace.CompRuntime, trace.CRICall, "CreateContainer", "web", "nginx:1.27", "ct-04", 30*time.Millisecond)
	call(trace.CompRuntime, trace.CRICall, "StartContainer", "web", "ct-04", "", 25*time.Millisecond)
	last = t.Emit(trace.CompKubelet, node, trace.ContainerChange, ref, &trace.ContainerState{Node: node, Pod: key, Container: "web", State: "running"}, last)
	run := Pod("demo", pod, "web-7f9c", node, "Running", ip)
	c := t.Request(Call{Verb: "patch", Resource: "pods", Sub: "status", Ref: ref, Client: "kubelet/" + node, User: "system:node:" + node, Object: run}, last)
	t.After(time.Second)
	p := t.Emit(trace.CompKubelet, node, trace.ProbeResult, ref, &trace.Probe{Node: node, Pod: key, Container: "web", Probe: "readiness", OK: true, Output: "200 OK", Threshold: 3}, c)
	ready := Pod("demo", pod, "web-7f9c", node, "Ready", ip)
	c = t.Request(Call{Verb: "patch", Resource: "pods", Sub: "status", Ref: ref, Client: "kubelet/" + node, User: "system:node:" + node, Object: ready}, p)
	w := t.Watched(c, "pods", "MODIFIED", ready, ref, rsCtl, epsCtl)
	t.Emit(epsCtl, "", trace.QueueAdd, trace.Ref{}, &trace.QueueItem{Queue: "endpointslice", Key: "demo/web", Ready: 1}, w[1])
}
