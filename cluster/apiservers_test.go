package cluster_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/raftstore/steady"
)

// A second API server comes up on the same store, behind a load balancer. Connections
// that are there stay where they are; new ones take turns. When the first server is
// stopped its watches end, and everybody goes on at the other, from the revision they
// had; nobody lists anew. Services that are made at both get different addresses.
func TestAnAPIServerGoesAway(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 36, NoSync: true, Nodes: 1})
		run(t, c, "kubectl create deployment web --image=nginx:1.27\nkubectl rollout status deploy/web --timeout=2m\n")
		from := mark(t, c)
		out := run(t, c, `
kviz apiserver add
kviz wait --timeout 1m 'balancer.servers.size() == 2 && balancer.servers.all(s, s.up)'
sleep 70 # so that every watch had a bookmark since the second server is there
kubectl get endpointslice kubernetes -o jsonpath='{.endpoints[*].addresses[0]}{"\n"}'
kubectl get leases -n kube-system -l apiserver.kubernetes.io/identity=kube-apiserver -o name
kubectl expose deployment web --port=80
kviz fault stop apiserver
kubectl scale deploy/web --replicas=3
kubectl rollout status deploy/web --timeout=2m
kubectl expose deployment web --port=80 --name=other
sleep 15
kviz apiserver servers | grep -c ' up '
kubectl get endpointslice kubernetes -o jsonpath='{.endpoints[*].addresses[0]}{"\n"}'
kviz fault start apiserver
kviz wait --timeout 1m 'balancer.servers.all(s, s.up)'
kubectl get ipaddresses -o name | wc -l
kubectl delete service other
kubectl get ipaddresses -o name | wc -l
`)
		golden(t, "two-apiservers", out+"\n"+serverStory(after(t, c, from)))
		numbers := map[uint64]string{}
		relisted, moved := 0, 0
		for _, e := range after(t, c, from) {
			switch p := e.Payload.(type) {
			case *trace.Request:
				if e.Kind != trace.RequestReceived {
					continue
				}
				if was := numbers[p.Request]; was != "" {
					t.Errorf("request %d is at %s and at %s", p.Request, was, e.Lane)
				}
				numbers[p.Request] = e.Lane.String()
			case *trace.Informer:
				if e.Kind == trace.InformerRelist && p.Reason != "first start" { // of a kind that came into use
					relisted++
					t.Logf("#%s %s: %+v", e.ID, e.Lane, p)
				}
			case *trace.Watch:
				if e.Kind == trace.WatchOpened && e.Lane.Instance == "b" {
					moved++
				}
			}
		}
		if relisted > 0 {
			t.Errorf("%d informers listed anew; their watches should have gone on at the other server", relisted)
		}
		if moved < 10 {
			t.Errorf("only %d watches were opened at the other server", moved)
		}
	})
}

// serverStory is what becomes of the servers, and who connects where: components that
// are there all the time.
func serverStory(events []*trace.Event) string {
	var b strings.Builder
	var who []string
	flush := func() {
		if slices.Sort(who); len(who) > 0 {
			b.WriteString(strings.Join(slices.Compact(who), "\n") + "\n")
		}
		who = nil
	}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case *trace.Process:
			if strings.HasPrefix(p.Process, trace.CompAPIServer) || p.Process == trace.CompBalancer {
				flush()
				fmt.Fprintf(&b, "%s %s: %s\n", e.Kind, p.Process, p.Reason)
			}
		case *trace.BalancedServer:
			flush()
			fmt.Fprintf(&b, "%s (%s) up: %v, %s\n", p.Server, p.Address, p.Up, p.Reason)
		case *trace.Balanced:
			if p.Client == trace.CompScheduler || p.Client == trace.CompKCM || strings.HasPrefix(p.Client, trace.CompKubelet) {
				who = append(who, "    "+p.Client+" connects to "+p.Server)
			}
		}
	}
	flush()
	return b.String()
}

// With two servers, resourceVersion=0 shows what the one that is asked has in its
// cache, which may be old; without a resourceVersion it is the newest, whichever is
// asked.
func TestTwoServersCaches(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 37, NoSync: true, Nodes: 1})
		out := run(t, c, `
kviz apiserver add
kviz wait --timeout 1m 'balancer.servers.size() == 2 && balancer.servers.all(s, s.up)'
kviz fault stop apiserver
sleep 10
kviz fault stall watch/b/configmaps
kubectl create configmap fresh
echo old: $(kubectl get --raw '/api/v1/namespaces/default/configmaps?resourceVersion=0' | grep -c fresh)
echo new: $(kubectl get --raw '/api/v1/namespaces/default/configmaps' | grep -c fresh)
kviz fault start apiserver
kviz wait --timeout 1m 'balancer.servers.all(s, s.up)'
kviz fault stop apiserver/b
echo other: $(kubectl get --raw '/api/v1/namespaces/default/configmaps?resourceVersion=0' | grep -c fresh)
`)
		for _, want := range []string{"old: 0", "new: 1", "other: 1"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
	})
}

// Two servers from the beginning: every kubectl makes a connection of its own, and
// they take turns; a file that one of them was given is that one's alone, so that a
// token is good every other time; when both are down the connection is refused; and
// kinds that come into use at one are known at the other.
func TestTwoServersAreConfigured(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 38, NoSync: true, Nodes: 1, Servers: 2})
		from := mark(t, c)
		out := run(t, c, `
kviz apiserver tokens --server=b - <<EOF
secret,jane,42,"dev"
EOF
kviz apiserver tokens
kviz apiserver audit --server=b manifests/audit/policy.yaml
kviz fault restart apiserver/b
sleep 5
on control-plane-b ls /etc/kubernetes/tokens.csv
on control-plane-b cat /etc/kubernetes/tokens.csv
on control-plane ls /etc/kubernetes/tokens.csv || true
on control-plane-b cat /etc/passwd || true
kubectl --server=b create secret generic seen >/dev/null
kviz fault fill audit/b
kubectl --server=b create secret generic unseen >/dev/null
kviz apiserver audit --server b | tail -1
kviz fault free audit/b
kubectl --server=b get secret seen -o name
on control-plane-b grep -c '"name":"seen"' /var/log/kubernetes/audit.log
on control-plane-b grep -c '"name":"unseen"' /var/log/kubernetes/audit.log || true
cat /var/log/kubernetes/audit.log || true
kviz fault fill audit/c || true
kubectl --token=secret auth whoami -o jsonpath='{.status.userInfo.username}{"\n"}' || true
kubectl --token=secret auth whoami -o jsonpath='{.status.userInfo.username}{"\n"}' || true
kubectl --token=secret auth whoami -o jsonpath='{.status.userInfo.username}{"\n"}' || true
kviz apiserver concurrency --server apiserver/b 40 | head -1
kviz apiserver concurrency | grep served
kviz apiserver etcd-servers --server b b
kviz apiserver etcd-servers
kviz apiserver etcd-servers --server d || true
kubectl create -f - <<EOF
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: hats.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: hats, singular: hat, kind: Hat}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
EOF
kubectl wait --for=condition=Established crd/hats.example.com
kubectl create -f - <<EOF
apiVersion: example.com/v1
kind: Hat
metadata: {name: bowler}
EOF
kubectl get hats -o name
kubectl get hats -o name
kviz fault stop apiserver
kviz fault stop apiserver/b
kubectl get hats || true
kubectl get --raw /readyz || true
kviz fault start apiserver/b
sleep 6
kubectl get hats -o name
`)
		var asked strings.Builder
		for _, e := range after(t, c, from) {
			if p, ok := e.Payload.(*trace.Request); ok && e.Kind == trace.RequestReceived && p.Client == "kubectl" {
				fmt.Fprintf(&asked, "%s at %s\n", p.Verb+" "+p.Path, e.Lane)
			}
		}
		golden(t, "two-apiservers-configured", out+"\n"+asked.String())
	})
}

// An API server is taken out again: its address goes from the endpoints of the
// kubernetes Service before its process ends, its clients go on at the other, and
// nothing of it is left to be seen or broken, nor in what is folded; before, it is
// there. One that is added later has its name and address, and nothing else of it. The
// first and the only one cannot be removed. A second run with the same seed has the
// same events, and so has the recording.
func TestAnAPIServerIsRemoved(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		const script = `
kviz apiserver remove apiserver || true
kviz apiserver add
kviz wait --timeout 1m 'balancer.servers.size() == 2 && balancer.servers.all(s, s.up)'
kviz apiserver remove apiserver || true
kviz apiserver remove c || true
sleep 70 # so that every watch had a bookmark since the second server is there
kviz fault stop apiserver
kviz apiserver remove b || true
sleep 10
kviz fault start apiserver
kviz wait --timeout 1m 'balancer.servers.all(s, s.up)'
sleep 70 # likewise since the first one is there again
kubectl create configmap before
kubectl create service clusterip one --tcp=80 
kviz apiserver tokens --server=b - <<SECRETS
secret,jane,42,"dev"
SECRETS
kviz fault slow apiserver/b 10ms
kviz fault slow watch/b/pods 10ms
kubectl get endpointslice kubernetes -o jsonpath='{.endpoints[*].addresses[0]}{"\n"}'
kviz apiserver remove b
kubectl get endpointslice kubernetes -o jsonpath='{.endpoints[*].addresses[0]}{"\n"}'
kubectl get configmap before -o name
kubectl delete service one
kubectl get ipaddresses -o name
kviz fault crash apiserver/b || true
kviz fault fast watch/b/pods || true
kviz fault stop balancer
kubectl get configmap before -o name || true
kviz fault start balancer
kviz apiserver add
kviz wait --timeout 1m 'balancer.servers.size() == 2 && balancer.servers.all(s, s.up)'
kviz apiserver tokens --server=b
kviz apiserver servers | cut -d: -f1
sleep 20
kviz apiserver remove apiserver/b
`
		const seed = 39
		file := filepath.Join(t.TempDir(), "removed.kvrun")
		var sums []string
		for i := range 2 {
			c := boot(t, cluster.Config{Seed: seed, Bare: true, Nodes: 1})
			from := mark(t, c)
			out := run(t, c, script)
			events := after(t, c, trace.ID{})
			sums = append(sums, sum(t, events))
			if i > 0 {
				continue
			}
			// Its Lease runs out in an hour, and is collected in another at most.
			out += run(t, c, "sleep 7300\nkubectl get leases -n kube-system -l apiserver.kubernetes.io/identity=kube-apiserver -o name\n")
			golden(t, "apiserver-removed", out+"\n"+serverStory(after(t, c, from)))
			nobodyRelists(t, after(t, c, from))
			nothingIsLeft(t, c)
			record(t, file, events)
		}
		_, events, err := trace.ReadAll(file)
		if err != nil {
			t.Fatal(err)
		}
		if sums = append(sums, sum(t, events)); sums[1] != sums[0] || sums[2] != sums[0] {
			t.Errorf("seed %d: the run, another, and the recording of the first: %v", seed, sums)
		}
	})
}

// record writes events into a file.
func record(t *testing.T, path string, events []*trace.Event) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewRecorder(f, trace.Header{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		r.Append(e)
	}
	if err := errors.Join(r.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// nobodyRelists holds that informers go on where they were, but for kinds that have
// just come into use.
func nobodyRelists(t *testing.T, events []*trace.Event) {
	t.Helper()
	for _, e := range events {
		if p, ok := e.Payload.(*trace.Informer); ok && e.Kind == trace.InformerRelist && p.Reason != "first start" {
			t.Errorf("#%s %s listed anew: %+v", e.ID, e.Lane, p)
		}
	}
}

// nothingIsLeft holds that the fold knows a second server until it is removed, and
// nothing of it from then on.
func nothingIsLeft(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	h := view.NewHistory(c.Trace())
	h.CatchUp(0)
	all := after(t, c, trace.ID{})
	for i, e := range all {
		p, ok := e.Payload.(*trace.BalancedServer)
		if !ok || !p.Removed {
			continue
		}
		was, is := h.AtID(all[i-1].ID), h.AtID(e.ID)
		if len(was.Balancer.Servers) != 2 || was.Process("apiserver/b") == nil || len(was.Others) != 1 {
			t.Errorf("before #%s the fold does not know the server", e.ID)
		}
		if len(is.Balancer.Servers) != 1 || is.Process("apiserver/b") != nil || len(is.Others) != 0 || len(is.Faults()) != 0 || len(is.Balancer.Clients("apiserver/b")) != 0 {
			t.Errorf("after #%s the fold has: servers %v, others %v, faults %v", e.ID, is.Balancer.Servers, is.Others, is.Faults())
		}
		for _, w := range is.Watchers() {
			if w.Server == "apiserver/b" {
				t.Errorf("after #%s the fold has a watch at the server: %+v", e.ID, w)
			}
		}
	}
	for _, target := range c.Targets() {
		if strings.HasPrefix(target, "apiserver/") || strings.HasPrefix(target, "watch/b/") {
			t.Errorf("%s can still be broken", target)
		}
	}
}

// An API server that has the name of one that was slowed and removed is another: it can be
// slowed too.
func TestTheNextServerOfANameCanBeSlowed(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 5, Bare: true, Nodes: 1})
		run(t, c, `
kviz apiserver add
sleep 15
kviz fault slow apiserver/b 1s
kviz apiserver remove apiserver/b
kviz apiserver add
sleep 15
kviz fault slow apiserver/b 3s
kviz fault stop apiserver
sleep 15
`)
		elapsed := func() (at time.Duration) {
			if err := c.Kernel().Do(func() { at = c.Kernel().Elapsed() }); err != nil {
				t.Fatal(err)
			}
			return at
		}
		from := elapsed()
		run(t, c, "kubectl get namespace default")
		if took := elapsed() - from; took < 3*time.Second {
			t.Errorf("a request at the slow server took %v", took)
		}
	})
}
