package cluster_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/fault"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// hellos is the documents' deployment, answered.
const hellos = `
kubectl apply -f manifests/namespace.yaml
kubectl apply -f manifests/pod.yaml
kubectl apply -f manifests/deployment.yaml
kubectl apply -f manifests/service.yaml
` + converged

// converged fails unless the deployment has both replicas, every node is Ready
// and free of taints, and the Service answers inside a pod, all within minutes.
const converged = `
kubectl wait --for=condition=Ready node --all --timeout=300s
kviz wait --timeout 300s 'object("deployments", "demo", "hello-deploy").status.availableReplicas == 2'
kubectl wait --for=condition=Ready -n demo pod/hello-pod --timeout=300s
` + answered

// answered asks the Service until it answers, for three quarters of a minute: a kube-proxy
// whose rules were flushed may need its sync period of 30 s to notice.
const answered = `
ok=no
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
  if kubectl exec -n demo hello-pod -- curl -s --max-time 2 hello-svc; then ok=yes; break; fi
  sleep 1
done
test $ok = yes
`

// try runs a script and gives what it wrote and how it ended.
func try(t testing.TB, c *cluster.Cluster, script string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := c.Console().RunScript(t.Context(), t.Name(), script, control.Streams{Out: &out, Err: &out})
	return out.String(), err
}

// mark is the number of the newest event.
func mark(t testing.TB, c *cluster.Cluster) trace.ID {
	t.Helper()
	var id trace.ID
	if err := c.Kernel().Do(func() { id = c.Kernel().Last() }); err != nil {
		t.Fatal(err)
	}
	return id
}

// after are the control-plane events after one.
func after(t testing.TB, c *cluster.Cluster, id trace.ID) []*trace.Event {
	t.Helper()
	var events []*trace.Event
	if err := c.Kernel().Do(func() {
		events, _, _ = c.Trace().Read(c.Trace().Search(trace.ID{Seq: id.Seq + 1}), 1<<20)
	}); err != nil {
		t.Fatal(err)
	}
	return inside(events)
}

// victim names one target of a kind: of members the one that leads, or the
// newest where what was prepared is that.
func victim(t testing.TB, c *cluster.Cluster, kind string, newest bool) string {
	switch kind {
	case "member":
		if newest {
			return "member/" + newestMember(c)
		}
		return "member/" + c.Raft().Leader()
	case "node", "kubelet", "proxy", "runtime", "instance":
		return kind + "/node-2"
	case "pod":
		for _, target := range c.Targets() {
			if strings.HasPrefix(target, "pod/demo/hello-deploy-") {
				return target
			}
		}
		t.Fatal("no pod of the deployment is a target")
	}
	switch kind {
	case "watch":
		return "watch/configmaps"
	case "informer":
		return "informer/controller-manager/deployments"
	case "webhook":
		return "webhook/deny-all"
	case "queue":
		return "queue/replicaset"
	case "controller":
		return "controller/replicaset-controller"
	case "certificate":
		return "certificate/system:node:node-2"
	case "token":
		return "token/kube-system/coredns"
	}
	return kind
}

func newestMember(c *cluster.Cluster) string {
	ids := c.Raft().IDs()
	return ids[len(ids)-1]
}

// peer is a member other than the target.
func peer(c *cluster.Cluster, target string) string {
	ids := c.Raft().IDs()
	if target == "member/"+ids[0] {
		return ids[1]
	}
	return ids[0]
}

func argsOf(c *cluster.Cluster, name, kind, target string) string {
	switch name + " " + kind {
	case "slow member":
		return "20ms"
	case "slow node", "slow watch", "slow webhook", "slow oidc", "slow apiserver", "slow informer", "slow queue", "slow controller", "slow cloud", "slow cloud-controller-manager",
		"slow csi-driver", "slow csi-provisioner", "slow csi-attacher", "slow csi-resizer":
		return "500ms"
	case "fail csi-driver":
		return "publish"
	case "slow registry":
		return "10"
	case "delay member":
		return peer(c, target) + " 20ms"
	case "drop member":
		return peer(c, target) + " 0.2"
	case "duplicate member", "reorder member":
		return peer(c, target) + " 0.3"
	case "pressure node":
		return "memory"
	case "partition store":
		return c.Raft().Leader()
	case "slow-elections store":
		return "5"
	case "quota store":
		return "100KiB"
	}
	return ""
}

// treatment is what one fault needs around it: scripts where TARGET is its
// target, and NEWEST the member that joined last.
type treatment struct {
	before string // what must be so for it to be possible
	newest bool   // its target is the member that joined last
	again  bool   // it is refused until a member has caught up
	after  string // what mends it, beside what the catalogue names
}

// whole says that every member is up, is a voter and has what the leader has.
const whole = `
kviz wait --timeout 10m 'store.leader != "" && store.quorum.total == 3 && store.quorum.have == 3 && store.members.all(n, store.members[n].left || store.members[n].up && store.members[n].last >= store.members[store.leader].last)'
`

// noAlarms clears alarms until there are none: a member that applied late
// raises its own.
const noAlarms = `
kviz fault quota store 2GiB
sleep 2
until kviz wait --timeout 1s 'store.alarms.size() == 0'; do kviz fault disarm store; done
`

// nodesAgain waits until every node has registered and a namespace has what pods
// need.
const nodesAgain = `
until test "$(kubectl get nodes -o name | wc -l)" -eq 3; do sleep 1; done
kubectl apply -f manifests/namespace.yaml
until kubectl get serviceaccount -n demo default; do sleep 1; done
`

// secondServer brings the load balancer, unless it is there.
const secondServer = "kviz apiserver servers | grep -q apiserver/b || kviz apiserver add\nsleep 10\n"

// treatments are of the faults that the catalogue says too little of: those
// that change who is in the group, or are possible only after something else.
var treatments = map[string]treatment{
	"fill member":       {after: "kviz fault start TARGET"}, // a full disk may have ended it
	"corrupt member":    {before: "kviz fault stop TARGET", after: "kviz fault rejoin TARGET"},
	"wipe member":       {after: "kviz fault rejoin TARGET"},
	"recover member":    {before: "kviz fault stop store", after: "kviz fault add-voter store\nkviz fault add-voter store"},
	"promote member":    {before: "kviz fault add-learner store", newest: true, again: true, after: "kviz fault remove TARGET"},
	"remove member":     {after: "kviz fault add-voter store"},
	"wipe store":        {after: "kviz fault reinstall store" + nodesAgain + hellos},
	"add-learner store": {after: "kviz fault remove member/NEWEST"},
	"add-voter store":   {after: "kviz fault remove member/NEWEST"},
	"quota store":       {after: noAlarms},
	"release informer":  {before: "kviz fault hold TARGET"},
	"stop balancer":     {before: secondServer}, "crash balancer": {before: secondServer}, "start balancer": {before: secondServer}, "restart balancer": {before: secondServer},
	"disarm store": {before: "kviz fault quota store 100KiB\nsleep 3\nkviz fault quota store 2GiB", after: noAlarms},
}

// Every fault of the catalogue is done to every kind of target it names, and
// mended with what the catalogue says mends it; then the cluster works as
// before. The typed command is the cause of the fault, and the fault of what
// it does.
func TestEveryFaultIsMended(t *testing.T) {
	t.Parallel()
	groups := map[string][]string{
		"members":       {"member"},
		"store":         {"store", "watch", "informer"},
		"control plane": {"apiserver", "balancer", "scheduler", "controller-manager", "cloud-controller-manager", "cloud", "controller", "queue", "dns", "registry", "kms", "webhook", "oidc", "audit", "certificate", "token"},
		"nodes":         {"node", "kubelet", "proxy", "runtime", "pod"},
		"storage":       {"csi-driver", "csi-provisioner", "csi-attacher", "csi-resizer"},
		"instances":     {"instance"},
	}
	tested := map[string]bool{}
	for _, g := range []string{"members", "store", "control plane", "nodes", "storage", "instances"} {
		t.Run(g, func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				c := boot(t, cluster.Config{Seed: 11, NoSync: true, External: g == "instances"})
				run(t, c, hellos)
				for _, f := range fault.Catalogue() {
					if slices.Contains(groups[g], f.Target) {
						tested[f.Name+" "+f.Target] = true
						t.Log(f.Name + " " + f.Target)
						breakAndMend(t, c, f, f.Target)
					}
				}
			})
		})
	}
	for _, f := range fault.Catalogue() {
		if !tested[f.Name+" "+f.Target] {
			t.Errorf("%s %s is in no group", f.Name, f.Target)
		}
	}
}

func breakAndMend(t *testing.T, c *cluster.Cluster, f control.FaultKind, kind string) {
	needs := treatments[f.Name+" "+kind]
	target := victim(t, c, kind, false)
	run(t, c, strings.ReplaceAll(needs.before, "TARGET", target))
	if needs.newest {
		target = victim(t, c, kind, true)
	}
	from := mark(t, c)
	script := fmt.Sprintf("kviz fault %s %s %s", f.Name, target, argsOf(c, f.Name, kind, target))
	if needs.again {
		script = "until " + script + "; do sleep 1; done"
	}
	run(t, c, script+"\nsleep 1\n")
	mend := strings.NewReplacer("TARGET", target, "NEWEST", newestMember(c)).Replace(needs.after)
	if f.Heals != "" && kind != "pod" {
		mend = fmt.Sprintf("kviz fault %s %s\n", f.Heals, target) + mend
	}
	run(t, c, mend+"\nsleep 1\n"+whole+converged)
	told := false
	for _, e := range after(t, c, from) {
		p, ok := e.Payload.(*trace.Fault)
		if !ok || p.Fault != f.Name {
			continue
		}
		told = true
		if p.Target != target || len(e.Causes) != 1 {
			t.Errorf("%s: target %s, causes %v", e.ID, p.Target, e.Causes)
			continue
		}
		if cause := eventAt(t, c, e.Causes[0]); cause == nil || cause.Kind != trace.CommandStart {
			t.Errorf("%s comes from %v, want the command", e.ID, cause)
		}
	}
	if !told {
		t.Error("the fault is not in the trace")
	}
}

func eventAt(t testing.TB, c *cluster.Cluster, id trace.ID) *trace.Event {
	t.Helper()
	var found *trace.Event
	if err := c.Kernel().Do(func() {
		if events, _, _ := c.Trace().Read(c.Trace().Search(id), 1); len(events) == 1 && events[0].ID == id {
			found = events[0]
		}
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

// A fault that cannot be done says what can, and leaves no event.
func TestRefusedFaultsNameWhatIsPossible(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 12, NoSync: true, Nodes: 1})
		from := mark(t, c)
		for _, tc := range []struct {
			f    control.Fault
			want string
		}{
			{control.Fault{Name: "explode", Target: "node/node-1"}, "unknown fault"},
			{control.Fault{Name: "fill", Target: "node/node-1"}, "it applies to audit, cloud, member"},
			{control.Fault{Name: "stop", Target: ""}, "it applies to apiserver, balancer"},
			{control.Fault{Name: "stop", Target: "member/x"}, `no "member/x"; did you mean "member/a"?`},
			{control.Fault{Name: "stop", Target: "member"}, `no "member"; did you mean "member/a"?`},
			{control.Fault{Name: "stop", Target: "node/node-9"}, "node/node-1"},
			{control.Fault{Name: "stop", Target: "kubelet/node-9"}, "kubelet/node-1"},
			{control.Fault{Name: "stop", Target: "runtime/node-9"}, "runtime/node-1"},
			{control.Fault{Name: "stop", Target: "scheduler/x"}, "scheduler"},
			{control.Fault{Name: "crash", Target: "pod/demo/nobody"}, "pod/NAMESPACE/NAME"},
			{control.Fault{Name: "slow", Target: "member/a"}, "such as 400ms"},
			{control.Fault{Name: "slow", Target: "member/a", Args: []string{"very"}}, `"very" is no duration`},
			{control.Fault{Name: "slow", Target: "node/node-1"}, "such as 500ms"},
			{control.Fault{Name: "slow", Target: "registry"}, "such as 10"},
			{control.Fault{Name: "slow", Target: "registry", Args: []string{"0.5"}}, "no factor of at least 1"},
			{control.Fault{Name: "slow", Target: "registry", Args: []string{"inf"}}, "no factor of at least 1"},
			{control.Fault{Name: "slow", Target: "registry", Args: []string{"NaN"}}, "no factor of at least 1"},
			{control.Fault{Name: "slow", Target: "registry", Args: []string{"1e300"}}, "at most 1000000"},
			{control.Fault{Name: "slow-elections", Target: "store", Args: []string{"1000000000000"}}, "at most 1000000"},
			{control.Fault{Name: "slow", Target: "apiserver", Args: []string{"2562047h"}}, "longer than 1000h0m0s"},
			{control.Fault{Name: "drop", Target: "member/a", Args: []string{"b", "NaN"}}, "between 0 and 1"},
			{control.Fault{Name: "delay", Target: "member/a", Args: []string{"b"}}, "usage: delay member/a PEER DURATION, such as: delay member/a b 30ms"},
			{control.Fault{Name: "delay", Target: "member/a", Args: []string{"zebra", "50ms"}}, "no member that member/a has a link to (b, c)"},
			{control.Fault{Name: "delay", Target: "member/a", Args: []string{"a", "50ms"}}, "itself"},
			{control.Fault{Name: "drop", Target: "member/a", Args: []string{"b", "7"}}, "between 0 and 1"},
			{control.Fault{Name: "cut", Target: "member/a", Args: []string{"zebra"}}, "usage: cut member/a [MEMBER…]"},
			{control.Fault{Name: "cut", Target: "member/a", Args: []string{"member/a"}}, "itself"},
			{control.Fault{Name: "stall", Target: "watch/pod"}, `did you mean "watch/pods"?`},
			{control.Fault{Name: "slow", Target: "watch/pods"}, "such as 2s"},
			{control.Fault{Name: "slow", Target: "apiserver"}, "such as 500ms"},
			{control.Fault{Name: "cut", Target: "watch/pods", Args: []string{"b"}}, `cut takes no "b"`},
			{control.Fault{Name: "drop", Target: "informer/scheduler/pod"}, `did you mean "informer/scheduler/pods"?`},
			{control.Fault{Name: "drop", Target: "informer/scheduler/pods", Args: []string{"demo/web", "0.5"}}, `drop takes no "0.5"`},
			{control.Fault{Name: "release", Target: "informer/scheduler/pods"}, "no event waits on its way to scheduler/pods"},
			{control.Fault{Name: "stop", Target: "webhook/deny"}, `did you mean "webhook/deny-all"?`},
			{control.Fault{Name: "slow", Target: "webhook/deny-all"}, "such as 30s"},
			{control.Fault{Name: "lie", Target: "webhook/deny-all", Args: []string{"often"}}, "uid, patch, verdict or garbage"},
			{control.Fault{Name: "pressure", Target: "node/node-1"}, "memory, disk or pid"},
			{control.Fault{Name: "pressure", Target: "node/node-1", Args: []string{"patience"}}, "memory, disk or pid"},
		} {
			err := c.Fault(t.Context(), tc.f)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%+v: %v, want …%s…", tc.f, err, tc.want)
			}
		}
		for _, e := range after(t, c, from) {
			if e.Kind == trace.FaultInjected || e.Kind == trace.FaultHealed {
				t.Errorf("a refused fault left #%s %s", e.ID, e.Payload)
			}
		}
	})
}

// A run of a work queue that was slowed before it ended goes on at once when the queue is
// fast again.
func TestAFastQueueWakesTheRunThatWasSlowed(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true, Nodes: 1})
		run(t, c, `
kviz fault slow queue/deployment 1h
kubectl create deployment web --image=nginx:1.27
sleep 10
test -z "$(kubectl get replicasets -o name)"
kviz fault fast queue/deployment
kviz wait --timeout 5s 'objects("replicasets", "default").size() == 1'
`)
	})
}

// A follower is cut off from both others. Its link with the leader alone is enough for it to
// follow; what is left of the fault ends with its other link, named from the other end.
func TestOneLinkIsMended(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 21, NoSync: true, Nodes: 1})
		leader := c.Raft().Leader()
		others := slices.DeleteFunc([]string{"a", "b", "c"}, func(id string) bool { return id == leader })
		run(t, c, strings.NewReplacer("CUT", others[0]).Replace(`
kviz fault cut member/CUT
kubectl create configmap unheard
kviz wait --timeout 60s 'store.leader != "" && store.members["CUT"].last < store.members[store.leader].commit'
leads=$(kviz print store.leader)
kviz fault heal member/CUT "$leads"
kviz wait --timeout 5s "store.members[\"CUT\"].commit >= store.members[\"$leads\"].commit"
kviz wait --timeout 1s 'faults.exists(f, f.fault == "cut")'
for id in a b c; do
  if test "$id" != CUT && test "$id" != "$leads"; then kviz fault heal member/"$id" CUT; fi
done
kviz wait --timeout 1s 'faults.size() == 0'
`))
	})
}
