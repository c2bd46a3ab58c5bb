package trail_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/tui/trail"
	"kviz/tui/tuitest"
)

// held is what holds the newest command of a tape, some time after its last event.
func held(tape *tuitest.Tape, after time.Duration) string {
	tape.After(after).Renew("kube-node-lease", "node-1")
	h := tape.History()
	walk := new(trail.Trail).Update(h.Stream(), h.Stream().Len(), h.Latest())
	if walk == nil {
		return "no walk"
	}
	return walk.Held
}

// apply is a command on a calm cluster, of which a Deployment comes, after something has broken.
func apply(breaks func(*tuitest.Tape)) *tuitest.Tape {
	t := tuitest.Calm(3, 3)
	breaks(t)
	cmd := t.Emit(trace.CompConsole, "", trace.CommandStart, trace.Ref{}, &trace.Command{Line: "kubectl apply -f api.yaml", Source: "console"})
	t.Request(tuitest.Call{Verb: "create", Resource: "deployments", Ref: tuitest.Ref("Deployment", "demo", "api"), Client: "console", Object: tuitest.Deployment(1, 0)}, cmd)
	return t
}

// pod is what apply leads to: a pod, as it is in the end.
func pod(t *tuitest.Tape, node, phase string) *tuitest.Tape {
	e := t.Stream.Get(t.Stream.Len() - 1)
	t.Request(tuitest.Call{Verb: "create", Resource: "pods", Ref: tuitest.Ref("Pod", "demo", "api-1"), Client: "console", Object: tuitest.Pod("demo", "api-1", "", node, phase, "")}, e.ID)
	return t
}

func fault(name, target string) func(*tuitest.Tape) {
	return func(t *tuitest.Tape) {
		t.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: name, Target: target})
	}
}

func ends(process, component, instance string) func(*tuitest.Tape) {
	return func(t *tuitest.Tape) {
		t.Emit(component, instance, trace.ProcessExit, trace.Ref{}, &trace.Process{Process: process, Reason: "stopped"})
	}
}

func nothing(*tuitest.Tape) {}

// A command that stands still for over two seconds says what holds it, and nothing where nothing
// does.
func TestHeld(t *testing.T) {
	for want, tape := range map[string]*tuitest.Tape{
		"":                           apply(nothing),
		"0/3 nodes":                  tuitest.Unplaced(),
		"controllers down":           apply(ends("controller-manager", trace.CompKCM, "")),
		"deployment controller down": apply(fault("stop", "controller/deployment-controller")),
		"scheduler down":             pod(apply(ends("scheduler", trace.CompScheduler, "")), "", ""),
		"kubelet down":               pod(apply(ends("kubelet/node-2", trace.CompKubelet, "node-2")), "node-2", "Pending"),
		"node-2 is off":              pod(apply(fault("stop", "node/node-2")), "node-2", "Pending"),
		"node-2 is cut off":          pod(apply(fault("cut", "node/node-2")), "node-2", "Pending"),
		"no network plugin":          pod(apply(fault("break-cni", "node/node-2")), "node-2", "Pending"),
		"runtime down":               pod(apply(fault("stop", "runtime/node-2")), "node-2", "Pending"),
		"no quorum":                  asking(tuitest.Calm(3, 3).Down("a", "crashed").Down("b", "crashed"), trace.StageStorage),
		"admission: sidecar":         asking(broken(tuitest.Calm(3, 3), "webhook/sidecar"), trace.StageDecode),
		"admission: zones":           answered(asking(broken(broken(tuitest.Calm(3, 3), "webhook/sidecar"), "webhook/zones"), trace.StageMutatingAdmission), "sidecar"),
		"admission: policy":          answered(asking(broken(broken(tuitest.Calm(3, 3), "webhook/image"), "webhook/policy"), trace.StageValidatingAdmission), "image"),
		"in storage":                 answered(asking(broken(tuitest.Calm(3, 3), "webhook/image"), trace.StageValidatingAdmission), "image"),
		"queue deployment slow":      slowed("deployment", "demo/api"),
	} {
		if got := held(tape, 3*time.Second); got != want {
			t.Errorf("held by %q, want %q", got, want)
		}
	}
	if got := held(slowed("deployment", "demo/other"), 3*time.Second); got != "" {
		t.Errorf("held by %q, of a queue that has nothing of the command's", got)
	}
	if got := held(apply(fault("slow", "controller/deployment-controller")), 3*time.Second); got != "" {
		t.Errorf("held by %q, which has no key of the command's", got)
	}
	if got := held(apply(ends("controller-manager", trace.CompKCM, "")), time.Second); got != "" {
		t.Errorf("held by %q after a second: nothing is that fast", got)
	}
}

func broken(t *tuitest.Tape, target string) *tuitest.Tape {
	fault("slow", target)(t)
	return t
}

// answered has a webhook server answer what a command has come to.
func answered(t *tuitest.Tape, server string) *tuitest.Tape {
	last := t.Stream.Get(t.Stream.Len() - 1)
	t.After(2*time.Second).Emit(trace.CompWebhook, server, trace.WebhookCalled, trace.Ref{}, &trace.WebhookCall{Webhook: server, Allowed: true}, last.ID)
	return t
}

// slowed is a command whose key a worker has in a queue that was made slow.
func slowed(queue, key string) *tuitest.Tape {
	t := apply(fault("slow", "queue/"+queue))
	item := trace.QueueItem{Queue: queue, Key: key, Ready: 1}
	added := t.Emit("deployment-controller", "", trace.QueueAdd, trace.Ref{}, &item)
	item.Ready, item.Processing = 0, 1
	t.Emit("deployment-controller", "", trace.QueueGet, trace.Ref{}, &item, added)
	return t
}

// asking is a command whose request has come as far as a stage.
func asking(t *tuitest.Tape, reached string) *tuitest.Tape {
	cmd := t.Emit(trace.CompConsole, "", trace.CommandStart, trace.Ref{}, &trace.Command{Line: "kubectl apply -f api.yaml", Source: "console"})
	cause := t.Emit(trace.CompAPIServer, "", trace.RequestReceived, trace.Ref{}, &trace.Request{Request: 900, Verb: "create", Resource: "deployments", Client: "console"}, cmd)
	for _, stage := range trace.Stages() {
		cause = t.Emit(trace.CompAPIServer, "", trace.RequestStage, trace.Ref{}, &trace.Stage{Request: 900, Stage: stage, Verdict: "pass"}, cause)
		if stage == reached {
			break
		}
	}
	return t
}

// What came to a station beside the first is counted at it, of an object once: of three pods two.
func TestMoreThanOneAtAStation(t *testing.T) {
	h := tuitest.Story().History()
	var all trail.Trail
	var counts []int // at the station at which the first pod is stored
	pod := trace.ID{}
	for to := uint64(1); to <= h.Stream().Len(); to++ {
		e := h.Stream().Get(to - 1)
		w := all.Update(h.Stream(), to, h.Latest())
		if w == nil || !strings.HasPrefix(w.Line, "kubectl apply") {
			continue
		}
		if e.Kind == trace.StoreCommit && e.Object.Kind == "Pod" && pod.IsZero() {
			pod = e.ID
		}
		for _, s := range w.Stops {
			if s.Event == pod && !slices.Contains(counts, s.More) {
				counts = append(counts, s.More)
			}
		}
	}
	if !slices.Equal(counts, []int{0, 1, 2}) {
		t.Errorf("so many more pods were counted one after another: %v", counts)
	}
}

// Walked again, what is still to come is known.
func TestStationsAhead(t *testing.T) {
	h := tuitest.Story().History()
	var all trail.Trail
	end := h.Stream().Len()
	all.Update(h.Stream(), end, h.Latest())
	ahead := 0
	for to := uint64(1); to <= end; to++ {
		if w := all.Update(h.Stream(), to, h.Latest()); w != nil {
			if w.Reached > len(w.Stops) || w.Reached < 1 {
				t.Fatalf("%d of %d stations", w.Reached, len(w.Stops))
			}
			ahead = max(ahead, len(w.Stops)-w.Reached)
		}
	}
	if ahead < 3 {
		t.Errorf("at most %d stations were known ahead", ahead)
	}
	var live trail.Trail
	for to := uint64(1); to <= end; to++ {
		if w := live.Update(h.Stream(), to, h.Latest()); w != nil && w.Reached < len(w.Stops) {
			t.Fatalf("at %d, for the first time, %d stations are known ahead", to, len(w.Stops)-w.Reached)
		}
	}
}
