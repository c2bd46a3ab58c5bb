package tuitest

import (
	"time"

	"kviz/cluster/trace"
)

// service makes the Service, its slice, the rules of every node, and sends a
// packet through them.
func (t *Tape) service(pods []string) {
	t.After(3 * time.Second)
	cmd := t.Emit(trace.CompConsole, "", trace.CommandStart, trace.Ref{}, &trace.Command{Line: "kubectl expose deployment web --port 80", Source: "console"})
	svc := Ref("Service", "demo", "web")
	c := t.Request(Call{
		Verb: "create", Resource: "services", Ref: svc, Client: "console", User: "kubernetes-admin", Object: Service(),
		Defaults: []trace.FieldDiff{{Path: "spec.clusterIP", To: `"10.96.0.10"`}, {Path: "spec.type", To: `"ClusterIP"`}},
	}, cmd)
	w := t.Watched(c, "services", "ADDED", Service(), svc, epsCtl, "proxy/node-1", "proxy/node-2", "proxy/node-3")
	run := t.Enqueue(epsCtl, "endpointslice", "demo/web", w[0])
	sl := Ref("EndpointSlice", "demo", "web-x2k")
	slice := Slice("10.244.1.7", "10.244.3.4")
	act := t.Emit(epsCtl, "", trace.ReconcileAction, svc, &trace.Action{
		Controller: "endpointslice", Key: "demo/web", Verb: "create", Target: sl,
		Why: "2 ready pods match app=web, no slice lists them: create one", Desired: "2 endpoints", Observed: "0",
	}, run)
	c = t.Request(Call{Verb: "create", Resource: "endpointslices", Ref: sl, Client: epsCtl, Object: slice}, act)
	t.Finish(epsCtl, "endpointslice", "demo/web", act)
	for _, n := range []string{"node-1", "node-2", "node-3"} {
		w := t.Watched(c, "endpointslices", "ADDED", slice, sl, "proxy/"+n)
		t.After(5 * time.Millisecond)
		rules := []struct{ chain, text string }{
			{"PREROUTING", `-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES`},
			{"KUBE-SERVICES", `-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m comment --comment "default/kubernetes:https cluster IP" -m tcp --dport 443 -j KUBE-SVC-NPX46M4PTMTKRN6Y`},
			{"KUBE-SERVICES", `-A KUBE-SERVICES -d 10.96.0.10/32 -p tcp -m comment --comment "demo/web cluster IP" -m tcp --dport 80 -j KUBE-SVC-WEB7F3QKLM2XCV9R`},
			{"KUBE-SVC-WEB7F3QKLM2XCV9R", `-A KUBE-SVC-WEB7F3QKLM2XCV9R -m comment --comment "demo/web -> 10.244.1.7:80" -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-A1B2C3D4E5F6G7H8`},
			{"KUBE-SVC-WEB7F3QKLM2XCV9R", `-A KUBE-SVC-WEB7F3QKLM2XCV9R -m comment --comment "demo/web -> 10.244.3.4:80" -j KUBE-SEP-Z9Y8X7W6V5U4T3S2`},
			{"KUBE-SEP-A1B2C3D4E5F6G7H8", `-A KUBE-SEP-A1B2C3D4E5F6G7H8 -p tcp -m comment --comment demo/web -m tcp -j DNAT --to-destination 10.244.1.7:80`},
			{"KUBE-SEP-Z9Y8X7W6V5U4T3S2", `-A KUBE-SEP-Z9Y8X7W6V5U4T3S2 -p tcp -m comment --comment demo/web -m tcp -j DNAT --to-destination 10.244.3.4:80`},
			{"POSTROUTING", `-A POSTROUTING -m comment --comment "kubernetes postrouting rules" -j KUBE-POSTROUTING`},
			{"KUBE-POSTROUTING", `-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN`},
		}
		pos := map[string]int{}
		for _, r := range rules {
			t.Emit(trace.CompProxy, n, trace.RuleChange, sl, &trace.Rule{Node: n, Table: "nat", Chain: r.chain, Text: r.text, Pos: pos[r.chain] + 1, Service: "demo/web:80"}, w[0])
			pos[r.chain]++
		}
		t.Emit(trace.CompProxy, n, trace.ProxySync, trace.Ref{}, &trace.ProxySyncInfo{Node: n, Full: true, Added: len(rules), Services: 2, Endpoints: 3}, w[0])
	}
	t.packet()
}

func (t *Tape) packet() {
	cmd := t.Emit(trace.CompConsole, "", trace.CommandStart, trace.Ref{}, &trace.Command{Line: "kubectl exec web-7f9c-k2x9p -n demo -- curl web", Source: "console"})
	src, dst := "10.244.1.7:41822", "10.96.0.10:80"
	hop := func(where, rule, verdict, why string) {
		t.After(20 * time.Microsecond)
		t.Emit(trace.CompNet, "node-1", trace.PacketHop, trace.Ref{}, &trace.Hop{Flow: 1, Node: "node-1", Where: where, Rule: rule, Verdict: verdict, Src: src, Dst: dst, Why: why}, cmd)
	}
	hop("pod", "", "sent", "web-7f9c-k2x9p asks for web, resolved to 10.96.0.10")
	hop("PREROUTING", `-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES`, "jump KUBE-SERVICES", "")
	hop("KUBE-SERVICES", `-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m comment --comment "default/kubernetes:https cluster IP" -m tcp --dport 443 -j KUBE-SVC-NPX46M4PTMTKRN6Y`, "no match", "another address")
	hop("KUBE-SERVICES", `-A KUBE-SERVICES -d 10.96.0.10/32 -p tcp -m comment --comment "demo/web cluster IP" -m tcp --dport 80 -j KUBE-SVC-WEB7F3QKLM2XCV9R`, "jump KUBE-SVC-WEB7F3QKLM2XCV9R", "")
	hop("KUBE-SVC-WEB7F3QKLM2XCV9R", `-A KUBE-SVC-WEB7F3QKLM2XCV9R -m comment --comment "demo/web -> 10.244.1.7:80" -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-A1B2C3D4E5F6G7H8`, "no match", "drew 0.71, not below 0.5")
	hop("KUBE-SVC-WEB7F3QKLM2XCV9R", `-A KUBE-SVC-WEB7F3QKLM2XCV9R -m comment --comment "demo/web -> 10.244.3.4:80" -j KUBE-SEP-Z9Y8X7W6V5U4T3S2`, "jump KUBE-SEP-Z9Y8X7W6V5U4T3S2", "the last one takes the rest")
	dst = "10.244.3.4:80"
	hop("KUBE-SEP-Z9Y8X7W6V5U4T3S2", `-A KUBE-SEP-Z9Y8X7W6V5U4T3S2 -p tcp -m comment --comment demo/web -m tcp -j DNAT --to-destination 10.244.3.4:80`, "DNAT 10.244.3.4:80", "")
	t.Emit(trace.CompNet, "node-1", trace.PacketEnd, trace.Ref{}, &trace.Flow{
		Flow: 1, From: "demo/web-7f9c-k2x9p", To: "web:80", Proto: "tcp", Backend: "10.244.3.4:80",
		Pod: "demo/web-7f9c-m4q7z", Result: "answered", Body: "hello from web-7f9c-m4q7z",
	}, cmd)
}

// trouble refuses a request, stops two members, and leaves a write waiting.
func (t *Tape) trouble() {
	t.After(4 * time.Second)
	t.Request(Call{
		Verb: "delete", Resource: "nodes", Ref: Ref("Node", "", "node-1"), Client: "console", User: "jane", Refused: trace.StageAuthorization, Code: 403,
		Why: `nodes "node-1" is forbidden: User "jane" cannot delete resource "nodes" in API group "" at the cluster scope`,
	})
	f := t.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{Kind: "Member", Name: "a"}, &trace.Fault{Fault: "stop", Target: "member/a"})
	t.Down("a", "stopped by a fault", f)
	t.Elect("b")
	rs := Ref("ReplicaSet", "demo", "web-7f9c")
	t.Request(Call{Verb: "update", Resource: "replicasets", Sub: "status", Ref: rs, Client: rsCtl, Object: ReplicaSet(3, 3, 2)})
	t.Request(Call{Verb: "update", Resource: "deployments", Sub: "status", Ref: Ref("Deployment", "demo", "web"), Client: depCtl, Object: Deployment(3, 2)})
	t.Emit(rsCtl, "", trace.QueueDelay, trace.Ref{}, &trace.QueueItem{Queue: "replicaset", Key: "demo/web-7f9c", After: 80 * time.Millisecond, Retries: 4, Delayed: 1})
	t.Emit(rsCtl, "", trace.QueueAdd, trace.Ref{}, &trace.QueueItem{Queue: "replicaset", Key: "demo/api-2c", Ready: 1, Delayed: 1})
	t.Emit(rsCtl, "", trace.QueueAdd, trace.Ref{}, &trace.QueueItem{Queue: "replicaset", Key: "demo/api-2c", Ready: 1, Delayed: 1, Merged: true})
	crash := Pod("demo", "web-7f9c-k2x9p", "web-7f9c", "node-1", "Crash", "10.244.1.7")
	key := "demo/web-7f9c-k2x9p"
	p := t.Emit(trace.CompKubelet, "node-1", trace.ContainerChange, Ref("Pod", "demo", "web-7f9c-k2x9p"), &trace.ContainerState{
		Node: "node-1", Pod: key, Container: "web",
		State: "waiting", Reason: "CrashLoopBackOff", Restarts: 3, ExitCode: 1,
	})
	t.Emit(trace.CompKubelet, "node-1", trace.ProbeResult, Ref("Pod", "demo", "web-7f9c-k2x9p"), &trace.Probe{
		Node: "node-1", Pod: key, Container: "web", Probe: "liveness",
		Output: "connection refused", Failures: 3, Threshold: 3,
	}, p)
	t.Request(Call{Verb: "patch", Resource: "pods", Sub: "status", Ref: Ref("Pod", "demo", "web-7f9c-k2x9p"), Client: "kubelet/node-1", User: "system:node:node-1", Object: crash}, p)
	t.half("command", 900)
	t.Emit(trace.CompAPIServer, "", trace.RequestReceived, Ref("Deployment", "demo", "web"), &trace.Request{
		Request: t.req + 1, Verb: "patch",
		Path: "/apis/apps/v1/namespaces/demo/deployments/web/scale", Resource: "deployments", Subresource: "scale", Namespace: "demo", Name: "web", User: "kubernetes-admin", Client: "console",
	})
	t.Emit(trace.CompAPIServer, "", trace.RequestStage, Ref("Deployment", "demo", "web"), &trace.Stage{Request: t.req + 1, Stage: trace.StageAuthentication, By: "x509", Verdict: "pass", Note: "kubernetes-admin"})
}
