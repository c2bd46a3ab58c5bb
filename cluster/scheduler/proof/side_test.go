package proof

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster"
	"kviz/cluster/beside"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

const namespace = "default"

// side is an API server of kviz with one scheduler: kviz' own, or kube-scheduler's binary. There are no
// controllers and no kubelets: what those would do, the story does by itself, on both sides alike.
type side struct{ *beside.Side }

// boot starts the API server of a side, with kviz' own scheduler unless its place is to be free.
func boot(t *testing.T, name string, free bool) *side {
	t.Helper()
	without := []string{trace.CompKCM}
	if free {
		without = append(without, trace.CompScheduler)
	}
	// Faster than the machine's clock, so that nobody waits for the modelled times of the store.
	s := &side{beside.Serve(t, name, cluster.Config{Seed: 1, Bare: true, Nodes: -1, Speed: 20, Without: without})}
	// What the ServiceAccount controller would make.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := s.API.CoreV1().ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return s
}

// fate is what became of a pod.
type fate struct {
	Node      string
	Nominated string
	Message   string // of PodScheduled=False
	Going     bool
}

// fates are those of all pods.
func (s *side) fates(ctx context.Context) (map[string]fate, error) {
	list, err := s.API.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	all := map[string]fate{}
	for _, p := range list.Items {
		f := fate{Node: p.Spec.NodeName, Nominated: p.Status.NominatedNodeName, Going: p.DeletionTimestamp != nil}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && f.Node == "" {
				f.Message = c.Message
			}
		}
		if f.Node != "" {
			f.Nominated = "" // the status of a bound pod may keep it for a while
		}
		all[p.Name] = f
	}
	return all, nil
}

var uid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// said are the Events about each pod, each once, without what no two runs have in common.
func (s *side) said(ctx context.Context) (map[string][]string, error) {
	list, err := s.API.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for _, e := range list.Items {
		if e.Regarding.Kind != "Pod" || strings.HasPrefix(e.Regarding.Name, "probe") {
			continue
		}
		if e.ReportingController == trace.CompSimulation {
			continue // what kviz does not simulate; of many pods at once it tells the first only
		}
		related := ""
		if e.Related != nil {
			related = " related to " + e.Related.Kind
		}
		text := fmt.Sprintf("%s %s %s by %s%s: %s", e.Type, e.Reason, e.Action, e.ReportingController, related, uid.ReplaceAllString(e.Note, "UID"))
		all[e.Regarding.Name] = append(all[e.Regarding.Name], text)
	}
	for _, name := range slices.Collect(maps.Keys(all)) {
		slices.Sort(all[name])
		all[name] = slices.Compact(all[name])
	}
	return all, nil
}

// settle returns when the scheduler has seen everything that was done before: it has answered a pod that comes
// after all others in its queue, and then another, since it takes what waits for the end of a back-off only
// when it has nothing else to do.
func (s *side) settle(t *testing.T) {
	t.Helper()
	for range 2 {
		probe := pod("probe", "1m", 0)
		probe.Spec.NodeSelector = map[string]string{"probe": "none"}
		probe.Spec.PriorityClassName = "last"
		s.do(t, func(ctx context.Context) error {
			_, err := s.API.CoreV1().Pods(namespace).Create(ctx, probe, metav1.CreateOptions{})
			return err
		})
		s.await(t, "the scheduler answers", func(all map[string]fate) string {
			if all["probe"].Message == "" {
				return "no answer yet"
			}
			return ""
		})
		s.remove(t, "probe")
	}
}

// await waits until nothing is missing of what the pods are to come to.
func (s *side) await(t *testing.T, what string, missing func(map[string]fate) string) {
	t.Helper()
	steady.Await(t, s.Name+": "+what, func() error {
		all, err := s.fates(t.Context())
		if err != nil {
			return err
		}
		if text := missing(all); text != "" {
			return fmt.Errorf("%s", text)
		}
		return nil
	})
}

func (s *side) do(t *testing.T, f func(context.Context) error) {
	t.Helper()
	if err := f(t.Context()); err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
}

// remove deletes a pod at once, as a kubelet confirms it.
func (s *side) remove(t *testing.T, name string) {
	t.Helper()
	s.do(t, func(ctx context.Context) error {
		return s.API.CoreV1().Pods(namespace).Delete(ctx, name, *metav1.NewDeleteOptions(0))
	})
}

// starts reports of a pod what its kubelet would: that it runs, and since when.
func (s *side) starts(t *testing.T, name string, at metav1.Time) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"phase": corev1.PodRunning, "startTime": at}})
	if err != nil {
		t.Fatal(err)
	}
	s.do(t, func(ctx context.Context) error {
		_, err := s.API.CoreV1().Pods(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	})
}

// decision is kviz' last about a pod, nil if it has made none.
func (s *side) decision(t *testing.T, name string) (last *trace.Decision) {
	t.Helper()
	s.do(t, func(context.Context) error {
		return s.C.Kernel().Do(func() {
			for pos, first := s.C.Trace().Len(), s.C.Trace().First(); pos > first && last == nil; pos-- {
				if e := s.C.Trace().Get(pos - 1); e != nil && e.Kind == trace.SchedDecision {
					if d, ok := e.Payload.(*trace.Decision); ok && d.Pod == namespace+"/"+name {
						last = d
					}
				}
			}
		})
	})
	return last
}
