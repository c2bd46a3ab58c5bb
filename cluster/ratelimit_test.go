package cluster_test

import (
	"regexp"
	"testing"
	"time"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// What differs from one draw of the dice to another in the transcript of refused pods, and
// with each event more or less before them.
var refusedVary = []varies{
	{regexp.MustCompile(`f-[a-z0-9]{8,10}(-[a-z0-9]{5})?\b`), "f-…"},
	{regexp.MustCompile(`(?m)^#[0-9]+ [0-9.]+s`), "#… …s"},
	{regexp.MustCompile(`revision [0-9]+`), "revision …"},
	{regexp.MustCompile(`waits [0-9.]+ms`), "waits …ms"},
}

// A pod that its node refuses is made again at once, and again: testdata/refused.txt is what
// is typed and what is seen. Only the rate limit in the ReplicaSet controller's own client
// keeps it within bounds: 20 requests a second after the first 30, for pods, statuses and
// Events together. The newest pod waited for it, and so did the one before; the requests of
// another controller do not wait behind. No component exceeds its limit at any time; and a
// controller that starts again may send as much at once as it could at first.
func TestARefusedPodIsMadeAsOftenAsTheClientMay(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true, Nodes: 1})
		golden(t, "refused", typed(t, c, "testdata/refused.txt", refusedVary))
		events := everything(t, c)
		waited := 0
		for _, of := range limitsOf(events) {
			if most, ok := keeps(events, of); !ok {
				t.Errorf("%s sent %d requests in %v: it may send %v a second and %d at once", of.lane, most.requests, most.in, of.QPS, of.Burst)
			}
			waited += of.waits
		}
		if waited == 0 {
			t.Error("no request ever waited: the story shows nothing")
		}

		run(t, c, "kviz fault restart controller-manager\nsleep 40")
		for _, e := range after(t, c, events[len(events)-1].ID) {
			p, ok := e.Payload.(*trace.ClientLimit)
			switch {
			case !ok || p.Client != "replicaset-controller":
			case p.Tokens == float64(p.Burst):
				return // the new process's
			case p.Tokens > 0:
				t.Fatalf("#%s: %v of a burst of %d are left", e.ID, p.Tokens, p.Burst)
			}
		}
		t.Error("the new process has no client")
	})
}

// limited is a component with one client, what that may send, and how often it waited.
type limited struct {
	lane string
	trace.ClientLimit
	waits int
}

// limitsOf are the components with one client, in the order in which these were made.
func limitsOf(events []*trace.Event) (found []*limited) {
	byLane, clients := map[string]*limited{}, map[string]string{}
	for _, e := range events {
		p, ok := e.Payload.(*trace.ClientLimit)
		if !ok {
			continue
		}
		lane := e.Lane.String()
		if was, ok := clients[lane]; ok && was != p.Client {
			byLane[lane].lane = "" // it has several
		}
		if clients[lane] = p.Client; byLane[lane] == nil {
			byLane[lane] = &limited{lane: lane, ClientLimit: *p}
			found = append(found, byLane[lane])
		}
		if p.Delay > 0 {
			byLane[lane].waits++
		}
	}
	return found
}

// burst is so many requests in so much time.
type burst struct {
	requests int
	in       time.Duration
}

// keeps reports whether a component sent no more in any time than it may, which are its burst
// and what comes in that time; if not, it gives an example.
func keeps(events []*trace.Event, of *limited) (burst, bool) {
	var sent []time.Duration
	for _, e := range events {
		if p, ok := e.Payload.(*trace.Request); ok && of.lane != "" && p.Client == of.lane && p.Verb != "watch" {
			sent = append(sent, e.At)
		}
	}
	for i, from := range sent {
		for j, to := range sent[i:] {
			if float64(j+1) > float64(of.Burst)+(to-from).Seconds()*of.QPS+1 {
				return burst{j + 1, to - from}, false
			}
		}
	}
	return burst{}, true
}
