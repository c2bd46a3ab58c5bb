package wire

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"

	"kviz/raftstore"
	"kviz/raftstore/etcdapi"
	"kviz/raftstore/metrics"
	"kviz/raftstore/proof/peer"
	"kviz/raftstore/steady"
)

// different are the answers that differ, by script and call, and why. One that
// does not differ any more fails the test.
var different = map[string]string{
	`keys: HashKVRequest {"revision":"10"}`:                                            "etcd remembers the hash of a compaction as of before it",
	`members: MemberAdd {"peerURLs":["http://10.0.0.1:2380"],"isLearner":true}`:        "a member that is added is also started, and so has an address",
	`members: MemberUpdateRequest {"ID":"900003","peerURLs":["http://10.0.0.3:2380"]}`: "a member that is added is also started, and so has an address",
}

// scripts are run on clusters of their own.
var scripts = []struct {
	name string
	run  func(*side)
}{
	{"keys", keys},
	{"transactions", transactions},
	{"watches", watches},
	{"leases", leases},
	{"upkeep", upkeep},

	{"versions", versions},
	{"users", users},
	{"members", members},
	{"recipes", recipes},
	{"pages", pages},
	{"sockets", sockets},
}

// Real etcd and kviz answer the same, word for word.
func TestTheyAnswerTheSame(t *testing.T) {
	steady.RealTime(t, "etcd knows no other time")
	var mu sync.Mutex
	answers := 0
	t.Cleanup(func() { t.Logf("%d answers compared", answers) })
	for _, script := range scripts {
		t.Run(script.name, func(t *testing.T) {
			t.Parallel()
			var etcd, kviz *side
			// Of an election the answers tell, and what they tell is not the script's: it
			// begins again on new clusters.
			for runs := 1; ; runs++ {
				etcd, kviz = realEtcd(t), ours(t)
				var both sync.WaitGroup
				both.Go(func() { script.run(etcd) })
				both.Go(func() { script.run(kviz) })
				both.Wait()
				if etcd.steady() && kviz.steady() {
					break
				}
				if runs == 5 {
					t.Fatal("a leader changed in each of five runs")
				}
				t.Log("a leader changed meanwhile: once more on new clusters")
			}
			compare(t, script.name, etcd.said, kviz.said)
			mu.Lock()
			defer mu.Unlock()
			answers += len(etcd.said)
		})
	}
}

func compare(t *testing.T, script string, etcd, kviz []said) {
	t.Helper()
	needed := map[string]bool{}
	for i := range max(len(etcd), len(kviz)) {
		if i >= len(etcd) || i >= len(kviz) || etcd[i].call != kviz[i].call {
			t.Errorf("after %d calls etcd was asked\n%v\nand kviz\n%v", i, calls(etcd, i), calls(kviz, i))
			return
		}
		e, k := etcd[i], kviz[i]
		why := different[script+": "+e.call]
		switch {
		case e.answer == k.answer:
		case why != "":
			needed[script+": "+e.call] = true
		default:
			t.Errorf("%d: %s\n  etcd: %s\n  kviz: %s", i, e.call, shorten(e.answer), shorten(k.answer))
		}
	}
	for call, why := range different {
		if strings.HasPrefix(call, script+": ") && !needed[call] {
			t.Errorf("%s does not differ any more, though it was said that %s", call, why)
		}
	}
}

func calls(list []said, from int) (text []string) {
	for _, s := range list[min(from, len(list)):min(from+3, len(list))] {
		text = append(text, s.call)
	}
	return text
}

func shorten(s string) string {
	if len(s) > 1500 {
		return s[:1500] + fmt.Sprintf("… (%d bytes)", len(s))
	}
	return s
}

func realEtcd(t *testing.T, options ...grpc.DialOption) *side {
	t.Helper()
	c, err := peer.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return sideOf(t, "etcd", c.Endpoints(), options)
}

func ours(t *testing.T, options ...grpc.DialOption) *side {
	t.Helper()
	set := metrics.New()
	store, err := raftstore.Open(raftstore.Config{NoSync: true, Events: set.Observe})
	if err != nil {
		t.Fatal(err)
	}
	served, err := etcdapi.Serve(store, etcdapi.Config{Metrics: set})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := served.Close(); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return sideOf(t, "kviz", served.Endpoints, options)
}

func sideOf(t *testing.T, name string, endpoints []string, options []grpc.DialOption) *side {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*steady.Patience(t))
	s, err := newSide(ctx, steady.Patience(t), name, endpoints, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.close(); cancel() })
	return s
}
