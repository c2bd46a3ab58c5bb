package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
)

// A second API server comes up on the same store, behind a load balancer. Connections
// that are there stay where they are; new ones take turns. When the first server is
// stopped its watches end, and everybody goes on at the other, from the revision they
// had; nobody lists anew. Services that are made at both get different addresses.
func TestAnAPIServerGoesAway(t *testing.T) {
	t.Parallel()
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
}

// Two servers from the beginning: every kubectl makes a connection of its own, and
// they take turns; a file that one of them was given is that one's alone, so that a
// token is good every other time; when both are down the connection is refused; and
// kinds that come into use at one are known at the other.
func TestTwoServersAreConfigured(t *testing.T) {
	t.Parallel()
	c := boot(t, cluster.Config{Seed: 38, NoSync: true, Nodes: 1, Servers: 2})
	from := mark(t, c)
	out := run(t, c, `
kviz apiserver tokens --server=b - <<EOF
secret,jane,42,"dev"
EOF
kviz apiserver tokens
kviz fault restart apiserver/b
sleep 5
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
}
