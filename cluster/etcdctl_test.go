package cluster_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// uncertain is what raft, the machine's clock or chance have in what etcd's
// programs print, and what it is called in the transcript.
var uncertain = []varies{
	{regexp.MustCompile(`took = [0-9.]+(µs|ms|s)`), "took = TIME"},
	{regexp.MustCompile(`Took [0-9.]+(µs|ms|s)`), "Took TIME"},
	{regexp.MustCompile(`took [0-9.]+(µs|ms|s)`), "took TIME"},
	{regexp.MustCompile(`\b\d+(\.\d+)? [kMG]?B\b`), "SIZE"},
	{regexp.MustCompile(`(true|false), (true|false), \d+, \d+, \d+,`), "LEADER, $2, TERM, INDEX, APPLIED,"},
	{regexp.MustCompile(`[│─┌┐└┘├┤┬┴┼]+`), " "},
	{regexp.MustCompile(`(3\.7\.0 .*%  +SIZE)  +(true|false)  +false +\d+ +\d+ +\d+`), "${1}  LEADER  false TERM INDEX APPLIED"}, // in the middle of its column
	{regexp.MustCompile(`(SIZE  SIZE.*?)  +(true|false)  +false  +\d+  +\d+  +\d+`), "${1}  LEADER  false  TERM  INDEX  APPLIED"},
	{regexp.MustCompile(`\bhash = \d+|\b[0-9a-f]{5,8}, (\d+), (\d+), SIZE`), "HASH, $1, $2, SIZE"},
	{regexp.MustCompile(`\b[0-9a-f]{5,8}( +\d+ +\d+ +SIZE)`), "HASH$1"},
	{regexp.MustCompile(`(?m)^([^,\n]*:2379), \d+, `), "$1, HASH, "},
	{regexp.MustCompile(`(?m)^\d{6,}, (\d+), `), "HASH, $1, "},
	{regexp.MustCompile(`HASH, \d+, \d+, SIZE`), "HASH, REVISION, KEYS, SIZE"},
	{regexp.MustCompile(`HASH, \d+, `), "HASH, REVISION, "},
	{regexp.MustCompile(`(?m)^HASH, \d+$`), "HASH, REVISION"},
	{regexp.MustCompile(`HASH +\d+ +\d+ +SIZE`), "HASH  REVISION  KEYS  SIZE"},
	{regexp.MustCompile(`(:2379, HASH), \d+`), "$1, REVISION"},
	{regexp.MustCompile(`"Count" : \d+`), `"Count" : N`},
	{regexp.MustCompile(`lease [0-9a-f]{16}|(?m)^[0-9a-f]{16}$`), "lease ID"},
	{regexp.MustCompile(`(?m) +$`), ""},
}

// Every verb of etcdctl and etcdutl, on a whole cluster: testdata/etcdctl.txt is
// what is typed and what is seen (inventory 382, 383, 384).
func TestEtcdctlVerbs(t *testing.T) {
	steady.RealTime(t, "etcdctl is a program of its own")
	c := boot(t, cluster.Config{Seed: 1, NoSync: true})
	golden(t, "etcdctl", typed(t, c, "testdata/etcdctl.txt", uncertain))
}

// What etcdctl does is part of the control-plane trace, the same in every run:
// also where it asks all members, waits, and finds one of them down.
func TestEtcdctlRepeats(t *testing.T) {
	steady.RealTime(t, "etcdctl is a program of its own")
	const script = `set +e
cd $DIR
etcdctl put greeting hello
etcdctl get greeting
etcdctl get / --prefix --keys-only --limit 3
printf 'value("greeting") = "hello"\n\nput greeting changed\n\n\n' | etcdctl txn
etcdctl lease grant 30
etcdctl endpoint health --cluster
etcdctl endpoint status --cluster -w table
etcdctl watch greeting --rev 1
timeout 3s etcdctl watch /registry/leases --prefix
etcdctl get greeting --consistency=s --endpoints=b:2379
etcdctl del greeting
etcdctl snapshot save backup.db
etcdutl snapshot status backup.db
etcdutl hashkv backup.db
id=$(etcdctl lease grant 60 | cut -d ' ' -f 2)
etcdctl lease timetolive $id
etcdctl member list
kviz fault stop member/c
etcdctl endpoint health --cluster
etcdctl get greeting --endpoints=c:2379
kviz fault start member/c
`
	var first []*trace.Event
	for i := range runs() {
		c := boot(t, cluster.Config{Seed: 3, NoSync: true, Nodes: 1})
		run(t, c, strings.ReplaceAll(script, "$DIR", t.TempDir()))
		var events []*trace.Event
		if err := c.Kernel().Do(func() { events, _, _ = c.Trace().Read(c.Trace().First(), 1<<20) }); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = events
			continue
		}
		if sum(t, first) != sum(t, events) {
			t.Fatalf("run %d differs from run 0 %s", i, difference(t, first, events))
		}
	}
}

// A cluster that runs as fast as it can gets through minutes while etcdctl, which is a program
// of its own, makes ready its next request. That is none of the time that etcdctl gives the store.
func TestEtcdctlAtFullSpeed(t *testing.T) {
	steady.RealTime(t, "etcdctl is a program of its own")
	c, err := cluster.Boot(t.Context(), cluster.Config{Seed: 8, NoSync: true, Nodes: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := errors.Join(c.WaitReady(t.Context()), c.Speed(0), c.Resume()); err != nil {
		t.Fatal(err)
	}
	out := run(t, c, `kviz fault stop apiserver
etcdctl put greeting hello
etcdctl get greeting --print-value-only
`)
	if !strings.Contains(out, "OK\nhello") {
		t.Errorf("etcdctl wrote and read:\n%s", out)
	}
}

// A backup of a store with users keeps the API server of the restored one from
// serving, since it is none of them: the restore says so, and how to go on.
func TestABackupWithUsersIsToldOf(t *testing.T) {
	steady.RealTime(t, "etcdctl is a program of its own")
	c := boot(t, cluster.Config{Seed: 6, NoSync: true, Nodes: 1})
	out := run(t, c, "cd "+t.TempDir()+`
etcdctl user add root:secret
etcdctl user grant-role root root
etcdctl auth enable
etcdctl --user root:secret snapshot save guarded.db
etcdctl --user root:secret auth disable
kviz restore guarded.db || echo it goes on
etcdctl --user root:secret auth disable
kviz wait --timeout 60s 'watchers.size() > 5 && time > duration("33s")'
kubectl wait --for=condition=Ready node/node-1 --timeout=60s
`)
	for _, want := range []string{
		"the API server does not serve after 30s: the content came with users, of whom the API server is none: etcdctl --user root:PASSWORD auth disable",
		"node/node-1 condition met",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in:\n%s", want, out)
		}
	}
}

// A namespace is deleted after a backup was made, and something else is made.
// The backup brings the namespace back; what came later is gone, and the store is
// another cluster (inventory 87).
func TestABackupBringsANamespaceBack(t *testing.T) {
	steady.RealTime(t, "etcdctl is a program of its own")
	for name, bump := range map[string]string{"as it was": "", "with other revisions": " --bump-revision 1000000 --mark-compacted"} {
		t.Run(name, func(t *testing.T) {
			c := boot(t, cluster.Config{Seed: 5, NoSync: true, Nodes: 1})
			before := c.Raft().ClusterID()
			out := run(t, c, "cd "+t.TempDir()+`
kubectl create namespace shop
kubectl create configmap prices --namespace shop --from-literal=tea=3
etcdctl snapshot save backup.db
kubectl delete namespace shop
kubectl create namespace later
kviz restore backup.db`+bump+`
kubectl get configmap prices --namespace shop -o jsonpath='{.data.tea}{"\n"}'
kubectl get namespaces -o name
kubectl create namespace after
kubectl wait --for=jsonpath='{.status.phase}'=Active namespace/after --timeout=30s
kubectl get configmap kube-root-ca.crt --namespace shop -o name
`)
			t.Log(out)
			_, after, _ := strings.Cut(out, "restored backup.db: ")
			for _, want := range []string{"\n3\n", "namespace/shop\n", "namespace/after condition met", "configmap/kube-root-ca.crt"} {
				if !strings.Contains(after, want) {
					t.Errorf("after the restore there is no %q", want)
				}
			}
			if strings.Contains(after, "namespace/later") {
				t.Error("what came after the backup is still there")
			}
			if now := c.Raft().ClusterID(); now == before {
				t.Errorf("the cluster ID is still %x", now)
			}
			// New pods come up: controllers, scheduler and kubelet go on with the store.
			run(t, c, "kubectl run web --image=nginx:1.27\nkubectl wait --for=condition=Ready pod/web --timeout=120s")
		})
	}
}

// No member is added where that would take the quorum, neither a voter nor a learner: etcd's own refusal
// comes at once.
func TestMembersChangeOnlyWithAQuorumBehind(t *testing.T) {
	c := boot(t, cluster.Config{NoSync: true, Nodes: -1})
	out := run(t, c, `
kviz fault crash member/c
kviz wait '!store.members["c"].up'
etcdctl --endpoints a member add d --peer-urls=http://d:2380 2>&1 || true
etcdctl --endpoints a member add d --peer-urls=http://d:2380 --learner 2>&1 || true
`)
	const refused = "Error: etcdserver: unhealthy cluster\n"
	if out != refused+refused {
		t.Errorf("etcdctl printed\n%s\nwant twice\n%s", out, refused)
	}
}
