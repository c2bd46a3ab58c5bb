package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/expr"
	"kviz/cluster/view"
	"kviz/tui/action"
)

// tours are what there is to be seen by itself: an apply from the command to the rules that
// know its pods, and the three words by which Kubernetes is explained everywhere.
func tours() []*tour {
	return []*tour{apply(), declarative(), convergence(), distributed()}
}

func tourOf(name string) *tour {
	all := tours()
	if i := slices.IndexFunc(all, func(t *tour) bool { return t.name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

const (
	applyHello = "kubectl apply -f manifests/hello.yaml"
	helloOut   = `object("deployments", "demo", "hello-deploy").status.availableReplicas == object("deployments", "demo", "hello-deploy").spec.replicas && ` +
		`object("deployments", "demo", "hello-deploy").status.replicas == object("deployments", "demo", "hello-deploy").spec.replicas`
)

// hello is an expression: the objects of a resource that came of the manifest's Deployment.
func hello(resource string) string {
	return `objects("` + resource + `", "demo").filter(o, o.metadata.name.startsWith("hello-deploy-"))`
}

// always is a command that does not depend on how things stand.
func always(line string) func(*view.State) string { return func(*view.State) string { return line } }

// apply is a tenth of a second in which everything happens at once, slow enough to be seen, then some seconds of waiting for
// containers, and for the proxies to know of them.
func apply() *tour {
	pods := hello("pods")
	until := expr.MustCompile
	return &tour{
		name: action.Apply,
		legs: []leg{
			{
				says: "Your apply goes through the stages of the API server, and into the store.", line: always(applyHello), quiet: true,
				speed: 0.004, takes: 60 * time.Millisecond, until: until(`object("deployments", "demo", "hello-deploy").spec.replicas > 0`),
			},
			{
				says: "Controllers see the Deployment and make a ReplicaSet, then two pods.", quiet: true,
				speed: 0.004, takes: 60 * time.Millisecond, until: until(pods + `.size() > 1`),
			},
			{
				says: "The scheduler chooses a node for each pod.", quiet: true,
				speed: 0.004, takes: 60 * time.Millisecond, until: until(pods + `.size() > 1 && ` + pods + `.all(p, p.spec.nodeName != "")`),
			},
			{
				says: "The kubelets there pull the image and start the containers.", quiet: true,
				speed: 0.25, takes: 3500 * time.Millisecond, until: until(pods + `.all(p, p.status.phase == "Running")`),
			},
			{
				says: "The pods are Ready: the Service gets their addresses, each node its rules.", quiet: true,
				speed: 0.1, takes: 1200 * time.Millisecond, until: until(helloOut),
			},
		},
		ends: "that was the apply: . steps along it, w asks why, , goes back",
	}
}

func declarative() *tour {
	out, pods, sets := expr.MustCompile(helloOut), hello("pods"), hello("replicasets")
	when := func(e, says string) sequel { return sequel{when: expr.MustCompile(e), says: says} }
	return &tour{
		name: action.Declarative,
		legs: []leg{
			{
				says: "You say what should be: two pods and a Service. You do not say how.", line: always(applyHello), speed: 0.5, takes: 8 * time.Second, until: out,
				then: []sequel{
					when(sets+`.size() > 0`, "The Deployment has no ReplicaSet: its controller makes one."),
					when(pods+`.size() == 2`, "The ReplicaSet wants two pods and has none: two are made."),
					when(helloOut, "Both pods are available: what is there is what should be."),
				},
			},
			{says: "The same once more: “unchanged”, because it already is so.", line: always(applyHello), speed: 1, takes: 7 * time.Second},
			{
				says: "One field of it becomes another: replicas 3. Only what is missing is made.", line: always(`kubectl patch deployment hello-deploy -n demo -p '{"spec":{"replicas":3}}'`),
				speed: 0.5, takes: 6 * time.Second, until: out,
				then: []sequel{when(pods+`.size() == 3`, "One pod is missing, so one is made. The other two stay as they are.")},
			},
			{
				says: "What the Deployment owns is deleted: its ReplicaSet. Watch it come back.", line: always("kubectl delete replicasets -n demo -l app=hello --wait=false"),
				speed: 0.4, takes: 6 * time.Second,
				then: []sequel{
					when(sets+`.exists(r, !has(r.status.availableReplicas) || r.status.availableReplicas < 3)`, "It is there again: the controller found none, and made another."),
					when(sets+`.exists(r, has(r.status.availableReplicas) && r.status.availableReplicas == 3)`, "Three pods are available again, all of them new ones."),
				},
			},
			{
				says: "The manifest again: what it says is what counts, and that is two.", line: always(applyHello), speed: 0.5, takes: 5 * time.Second, until: out,
				then: []sequel{when(pods+`.filter(p, !has(p.metadata.deletionTimestamp)).size() == 2`, "One pod is one too many: the ReplicaSet deletes it.")},
			},
		},
		ends: "seen: declarative. Never what to do, only what should be; saying it twice changes nothing",
	}
}

func convergence() *tour {
	out, pods, nodes := expr.MustCompile(helloOut), hello("pods"), `objects("nodes", "")`
	when := func(after time.Duration, e, says string) sequel {
		return sequel{after: after, when: expr.MustCompile(e), says: says}
	}
	const ready = `.exists(c, c.type == "Ready" && c.status == `
	return &tour{
		name: action.Convergence,
		legs: []leg{
			{
				says: "Two pods are wanted, and there will be two.", line: always(applyHello), speed: 0.7, takes: 6 * time.Second, until: out,
				then: []sequel{when(0, pods+`.size() == 2`, "None was there: controllers make what is missing.")},
			},
			{
				says: "Both pods are killed by hand. The ReplicaSet sees two too few.", line: always("kubectl delete pods -n demo -l app=hello --wait=false"), speed: 0.5, takes: 6 * time.Second,
				then: []sequel{
					when(0, pods+`.exists(p, has(p.metadata.deletionTimestamp)) && `+pods+`.exists(p, !has(p.metadata.deletionTimestamp))`, "Two others are made at once, while those two still end."),
					when(0, helloOut, "Two pods are available again, with other names."),
				},
			},
			{
				says: "Drift: somebody scales the ReplicaSet to five. Its Deployment wants two.", line: always("kubectl scale replicasets -n demo -l app=hello --replicas=5"), speed: 0.3, takes: 3 * time.Second,
				then: []sequel{when(800*time.Millisecond, hello("replicasets")+`.all(r, r.spec.replicas == 2)`, "The Deployment's controller has scaled it back to two.")},
			},
			{
				says: "A node loses its power: its kubelet renews its Lease no more.", line: func(s *view.State) string { return "kviz fault stop node/" + helloNode(s) }, speed: 25, takes: 450 * time.Second,
				then: []sequel{
					when(0, nodes+`.exists(n, n.status.conditions`+ready+`"Unknown"))`, "40 seconds without a Lease: the node counts as lost, and is tainted."),
					when(0, pods+`.exists(p, has(p.metadata.deletionTimestamp))`, "Five minutes later its pods are evicted, and made elsewhere."),
				},
			},
			{
				says: "The power is back: the node reports, and what was left there is cleaned up.", line: mend, speed: 3, takes: 24 * time.Second,
				then: []sequel{when(0, nodes+`.all(n, n.status.conditions`+ready+`"True")) && `+pods+`.all(p, !has(p.metadata.deletionTimestamp))`, "The node is Ready, the pods that ended there are gone: two are left.")},
			},
		},
		ends: "seen: convergence. Whatever was taken away, loops compared wanted with real until they met",
	}
}

func distributed() *tour {
	when := func(e, says string) sequel { return sequel{when: expr.MustCompile(e), says: says} }
	return &tour{
		name: action.Distributed,
		needs: func(s *view.State) string {
			if n := len(s.Store.Members()); n != 3 || s.Store.Quorum().Have != 3 {
				return "this tour needs a store of three members that all run (kviz --store raft --members 3)"
			}
			return ""
		},
		legs: []leg{
			{says: "Three members keep the same log. A write counts when two have it.", line: write("all-three", ""), speed: 0.1, takes: 700 * time.Millisecond},
			{
				says: "The leader is killed. The others miss it, and elect one of themselves.", line: crashLeader, speed: 0.2, takes: 3 * time.Second,
				then: []sequel{
					when(`store.quorum.have == 2`, "The first member to miss its heartbeats for too long stands for election."),
					when(`store.quorum.have == 2 && store.leader != ""`, "One has two votes of three, a majority: it leads the next term."),
				},
			},
			{says: "Two of three are a quorum: writes go on.", line: write("two-of-three", ""), speed: 0.2, takes: 1200 * time.Millisecond},
			{says: "The second is killed too. One of three is no quorum.", line: crashLeader, speed: 0.3, takes: 2 * time.Second},
			{says: "A write waits now: alone nobody may promise that it will not be lost.", line: write("one-of-three", " &"), speed: 0.4, takes: 3 * time.Second},
			{
				says: "Both are back: an election, the missing entries, a quorum.", line: mend, speed: 0.4, takes: 6 * time.Second, until: expr.MustCompile(`store.quorum.have == 3 && store.leader != ""`),
				then: []sequel{when(`store.quorum.have >= 2 && store.leader != ""`, "One leads again, and sends the others the entries that they missed.")},
			},
			{says: "What was agreed on is there, and new things can be.", line: always("kubectl get configmaps -n default"), speed: 1, takes: 6 * time.Second},
		},
		ends: "seen: distributed. With a majority it goes on, without one it waits; nothing agreed on was lost",
	}
}

// write makes an object of a name that is free, in the background if the end says so.
func write(name, end string) func(*view.State) string {
	return func(s *view.State) string {
		free := name
		for n := 2; s.Object("configmaps", "default", free) != nil; n++ {
			free = fmt.Sprintf("%s-%d", name, n)
		}
		return "kubectl create configmap " + free + " -n default --from-literal=a=1" + end
	}
}

// helloNode is a node with a pod of the manifest.
func helloNode(s *view.State) string {
	for _, n := range s.Nodes() {
		for _, p := range n.Pods() {
			if strings.HasPrefix(p.Pod, "demo/hello-") {
				return n.Name
			}
		}
	}
	return "node-1"
}

// crashLeader kills the member that leads.
func crashLeader(s *view.State) string { return "kviz fault crash member/" + s.Store.Leader }

// mend starts again what a tour has stopped.
func mend(s *view.State) string {
	var lines []string
	for _, f := range s.Faults() {
		if f.Fault.Fault == "stop" && strings.HasPrefix(f.Target, "node/") || f.Fault.Fault == "crash" && strings.HasPrefix(f.Target, "member/") {
			lines = append(lines, "kviz fault start "+f.Target)
		}
	}
	if len(lines) == 0 {
		return "kubectl get nodes"
	}
	return strings.Join(lines, "; ")
}
