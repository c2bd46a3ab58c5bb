package proof

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// story is what happens to both sides alike, one thing after another. Between two the controllers come to rest.
type story struct {
	*rand.Rand
	ns    string
	nodes []string
	kind  string
	steps []step
	image int // the number of the last image
}

// step is one thing that happens, to be done to each side.
type step struct {
	says     string
	do       func(ctx context.Context, s *side) error
	until    func(s *side) (missing string) // what both sides come to
	patience time.Duration                  // for how long, where that is more than usual
	firm     string                         // the resource of a workload that is updated: how far the number of pods goes is compared
	not      *regexp.Regexp                 // lines that are not compared
}

// kept is what of a picture is compared in this step: open are Events that are not.
func (st step) kept(picture []string, open []series) []string {
	return slices.DeleteFunc(picture, func(line string) bool {
		return st.not != nil && st.not.MatchString(line) || slices.ContainsFunc(open, func(s series) bool { return s.has(line) })
	})
}

// teller draws stories of a kind.
type teller struct {
	kind string
	tell func(*story)
	slow bool
}

// tellers has those that tell most several times.
var tellers = []teller{
	{"deployment", (*story).deployment, false},
	{"deployment", (*story).deployment, false},
	{"replicaset", (*story).replicaset, false},
	{"statefulset", (*story).statefulset, false},
	{"statefulset", (*story).statefulset, false},
	{"statefulset", (*story).statefulset, false},
	{"daemonset", (*story).daemonset, false},
	{"daemonset", (*story).daemonset, false},
	{"job", (*story).job, false},
	{"job", (*story).job, false},
	{"job", (*story).job, false},
	{"job", (*story).job, false},
	{"budget", (*story).budget, false},
	{"budget", (*story).budget, false},
	{"claim", (*story).claim, true},
	{"claim", (*story).claim, true},
	{"claim", (*story).claim, true},
	{"hpa", (*story).hpa, true},
	{"cronjob", (*story).cronjob, true},
	{"quota", (*story).quota, false},
	{"death", (*story).death, true},
	{"death", (*story).death, true},
}

// draw draws a story from a seed.
func draw(one tale, nodes []string) *story {
	st := &story{Rand: rand.New(rand.NewPCG(one.seed, 33)), ns: one.ns(), nodes: nodes}
	var of []teller
	for _, t := range tellers {
		if one.kind == t.kind || one.kind == "" && (*slow || !t.slow) {
			of = append(of, t)
		}
	}
	drawn := of[st.IntN(len(of))]
	st.kind = drawn.kind
	drawn.tell(st)
	return st
}

// one of some, drawn.
func one[T any](st *story, of ...T) T { return of[st.IntN(len(of))] }

func (st *story) add(steps ...step) { st.steps = append(st.steps, steps...) }

// create is the step that makes what a manifest says.
func (st *story) create(manifest string) step {
	return step{says: "create " + strings.ReplaceAll(strings.TrimSpace(manifest), "\n", "\n    "), do: func(ctx context.Context, s *side) error {
		return s.create(ctx, st.ns, manifest)
	}}
}

// patch is the step that merges a change into an object.
func (st *story) patch(says, resource, name string, change map[string]any) step {
	return step{says: says, do: func(ctx context.Context, s *side) error { return s.patch(ctx, resource, st.ns, name, change) }}
}

// update is the step that changes a workload's template; how far the number of pods goes is compared.
func (st *story) update(says, resource, name string, change map[string]any) step {
	s := st.patch(says, resource, name, change)
	s.firm = resource
	return s
}

// spec is a change of a spec.
func spec(key string, v any) map[string]any { return map[string]any{"spec": map[string]any{key: v}} }

// remove is the step that deletes an object, with what it owns or without.
func (st *story) remove(resource, name string) step {
	how := one(st, metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan)
	return step{says: fmt.Sprintf("delete %s/%s --cascade=%s", resource, name, strings.ToLower(string(how))), do: func(ctx context.Context, s *side) error {
		return s.delete(ctx, resource, st.ns, name, how)
	}, until: func(s *side) string {
		for _, o := range s.all(resource, st.ns) {
			if o.GetName() == name {
				return "it is there still"
			}
		}
		if how != metav1.DeletePropagationOrphan && len(s.all("pods", st.ns)) > 0 {
			return "its pods are there still"
		}
		return ""
	}}
}

// pods is what a workload's pods are made of: an image that runs, on the story's nodes.
func (st *story) pods(more string) string {
	return fmt.Sprintf(`    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {story: %s}
      terminationGracePeriodSeconds: 1
%s      containers: [{name: c, image: "nginx:1.27"}]
`, st.ns, more)
}

// picks is a template with another image, good or bad.
func (st *story) picks(bad bool) (says string, change map[string]any) {
	st.image++
	image := fmt.Sprintf("nginx:1.%d", 20+st.image)
	if bad {
		image = fmt.Sprintf("nginx:nosuch%d", st.image)
	}
	return "set image " + image, withImage(image)
}

func withImage(image string) map[string]any {
	return map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": image}}}}}}
}

// deletePods is the step that deletes some pods of all, those first that are ready.
func (st *story) deletePods(n int) step {
	return step{says: fmt.Sprintf("delete %d pods", n), do: func(ctx context.Context, s *side) error {
		names := s.owned(st.ns)
		for _, name := range names[:min(n, len(names))] {
			if err := s.delete(ctx, "pods", st.ns, name, metav1.DeletePropagationBackground); err != nil {
				return err
			}
		}
		return nil
	}}
}

// owned are the names of living pods that a workload owns, in an order in which both sides have the same pods: ready ones
// first, and of those the ones with a name of their own last; a DaemonSet's by their nodes.
func (s *side) owned(ns string) (names []string) {
	rank, place := map[string]int{}, map[string]string{}
	for _, o := range s.all("pods", ns) {
		if o.GetDeletionTimestamp() != nil || len(o.GetOwnerReferences()) == 0 {
			continue
		}
		names = append(names, o.GetName())
		if o.GetOwnerReferences()[0].Kind == "DaemonSet" {
			place[o.GetName()], _, _ = unstructured.NestedString(o.Object, "spec", "nodeName")
		}
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		if !is(conditions, "Ready") {
			rank[o.GetName()] = 1
		}
		if o.GetGenerateName() == "" {
			rank[o.GetName()] += 2
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(rank[a]-rank[b], strings.Compare(place[a], place[b]), strings.Compare(a, b))
	})
	return names
}

func (st *story) deployment() {
	most := 4
	strategy := one(st, "{type: Recreate}", "{rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}", "{rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}")
	if strategy == "{type: Recreate}" {
		most = 1 // see DESIGN.md
	}
	st.add(st.create(fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: %d
  minReadySeconds: %d
  revisionHistoryLimit: %d
  progressDeadlineSeconds: 7
  strategy: %s
  selector: {matchLabels: {app: web}}
  template:
%s`, 1+st.IntN(most), st.IntN(2), st.IntN(3), strategy, st.pods(""))))
	for range 4 {
		switch st.IntN(7) {
		case 0, 1:
			n := st.IntN(most + 1)
			st.add(st.patch(fmt.Sprintf("scale to %d", n), "deployments", "web", spec("replicas", n)))
		case 2:
			says, change := st.picks(false)
			st.add(st.update(says, "deployments", "web", change))
		case 3:
			says, change := st.picks(true)
			next := st.patch(says, "deployments", "web", change)
			next.until = func(s *side) string { return s.hasReason("deployments", st.ns, "web", "ProgressDeadlineExceeded") }
			st.add(next)
			if st.IntN(2) == 0 {
				st.add(st.patch("set image nginx:1.27", "deployments", "web", withImage("nginx:1.27")))
			}
		case 4:
			st.add(st.deletePods(1 + st.IntN(2)))
		case 5:
			says, change := st.picks(false)
			st.add(st.patch("pause", "deployments", "web", spec("paused", true)), st.patch(says, "deployments", "web", change),
				st.patch("resume", "deployments", "web", spec("paused", false)))
		case 6:
			st.add(st.patch("annotate", "deployments", "web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"note": fmt.Sprint(st.IntN(100))}}}))
		}
	}
	st.add(st.remove("deployments", "web"))
}

// hasReason says that a workload has no condition of this reason.
func (s *side) hasReason(resource, ns, name, reason string) string {
	for _, o := range s.all(resource, ns) {
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		replicas, found, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
		if o.GetName() == name && (text(conditions) != "" && strings.Contains(text(conditions), reason) || found && replicas == 0) {
			return ""
		}
	}
	return "no condition says " + reason
}

func (st *story) replicaset() {
	kind, resource, version, selector := "ReplicaSet", "replicasets", "apps/v1", "{matchLabels: {app: web}}"
	if st.IntN(2) == 0 {
		kind, resource, version, selector = "ReplicationController", "replicationcontrollers", "v1", "{app: web}"
	}
	st.add(st.create(fmt.Sprintf(`apiVersion: %s
kind: %s
metadata: {name: web}
spec:
  replicas: %d
  minReadySeconds: %d
  selector: %s
  template:
%s`, version, kind, 1+st.IntN(3), st.IntN(2), selector, st.pods(""))))
	for i := range 4 {
		switch st.IntN(5) {
		case 0, 1:
			n := st.IntN(5)
			st.add(st.patch(fmt.Sprintf("scale to %d", n), resource, "web", spec("replicas", n)))
		case 2:
			st.add(st.deletePods(1 + st.IntN(2)))
		case 3:
			st.add(step{says: "take the label off a pod", do: func(ctx context.Context, s *side) error {
				for _, name := range s.owned(st.ns) {
					return s.patch(ctx, "pods", st.ns, name, map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": nil, "was": "web"}}})
				}
				return nil
			}})
		case 4:
			// No node takes it: were it ready before the controller looks, it would not be the one to go.
			st.add(st.create(fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: stray-%d, labels: {app: web}}
spec:
  nodeSelector: {story: nowhere}
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: "nginx:1.27"}]
`, i)))
		}
	}
	st.add(st.remove(resource, "web"))
	if last := &st.steps[len(st.steps)-1]; true {
		last.until = nil // pods that were let go stay
	}
}

func (st *story) statefulset() {
	update := one(st, "{}", "{}", "{type: OnDelete}", "{rollingUpdate: {partition: 1}}", "{rollingUpdate: {maxUnavailable: 2}}")
	claims := ""
	if st.IntN(5) == 0 { // which no container mounts
		claims = fmt.Sprintf(`  persistentVolumeClaimRetentionPolicy: {whenDeleted: %s, whenScaled: %s}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`, one(st, "Retain", "Delete"), one(st, "Retain", "Delete"))
	}
	st.add(st.create(fmt.Sprintf(`apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  serviceName: web
  replicas: %d
  minReadySeconds: %d
  revisionHistoryLimit: %d
  podManagementPolicy: %s
  ordinals: {start: %d}
  updateStrategy: %s
%s  selector: {matchLabels: {app: web}}
  template:
%s`, 1+st.IntN(3), st.IntN(2), 1+st.IntN(2), one(st, "OrderedReady", "OrderedReady", "Parallel"), one(st, 0, 0, 5), update, claims, st.pods(""))))
	for range 4 {
		switch st.IntN(7) {
		case 0, 1:
			n := st.IntN(5)
			st.add(st.patch(fmt.Sprintf("scale to %d", n), "statefulsets", "web", spec("replicas", n)))
		case 2, 3:
			says, change := st.picks(false)
			st.add(st.update(says, "statefulsets", "web", change))
		case 4:
			says, change := st.picks(true)
			st.add(st.patch(says, "statefulsets", "web", change), st.patch("set image nginx:1.27", "statefulsets", "web", withImage("nginx:1.27")), st.deletePods(9))
		case 5:
			st.add(st.deletePods(1 + st.IntN(2)))
		case 6:
			n := st.IntN(3)
			st.add(st.patch(fmt.Sprintf("partition %d", n), "statefulsets", "web", spec("updateStrategy", map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": n}})))
		}
	}
	st.add(st.remove("statefulsets", "web"))
	for i := range st.steps {
		if claims != "" {
			st.steps[i].not = attaches
		}
	}
}

func (st *story) daemonset() {
	update := one(st, "{}", "{rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}", "{type: OnDelete}", "{rollingUpdate: {maxUnavailable: 2}}")
	st.add(st.create(fmt.Sprintf(`apiVersion: apps/v1
kind: DaemonSet
metadata: {name: web}
spec:
  minReadySeconds: %d
  revisionHistoryLimit: %d
  updateStrategy: %s
  selector: {matchLabels: {app: web}}
  template:
%s`, st.IntN(2), st.IntN(3), update, st.pods(""))))
	node := st.nodes[st.IntN(len(st.nodes))]
	for range 4 {
		switch st.IntN(7) {
		case 0, 1:
			says, change := st.picks(false)
			st.add(st.update(says, "daemonsets", "web", change))
		case 2: // what is on which node then is chance, so that it is the end
			says, change := st.picks(true)
			st.add(st.update(says, "daemonsets", "web", change))
			if st.IntN(2) == 0 {
				st.add(st.patch("set image nginx:1.27", "daemonsets", "web", withImage("nginx:1.27")))
			}
			st.add(st.remove("daemonsets", "web"))
			return
		case 3:
			st.add(st.deletePods(1 + st.IntN(2)))
		case 4:
			st.add(st.node("a node leaves the selector", node, map[string]any{"metadata": map[string]any{"labels": map[string]any{"story": "none"}}}),
				st.node("it comes back", node, map[string]any{"metadata": map[string]any{"labels": map[string]any{"story": st.ns}}}))
		case 5:
			effect := one(st, "NoSchedule", "NoExecute")
			st.add(st.node("a node is tainted "+effect, node, spec("taints", []any{map[string]any{"key": "mine", "value": "x", "effect": effect}})),
				st.node("the taint goes", node, spec("taints", nil)))
		case 6:
			st.add(st.node("a node is cordoned", node, spec("unschedulable", true)), st.deletePods(1), st.node("it is uncordoned", node, spec("unschedulable", nil)))
		}
	}
	st.add(st.remove("daemonsets", "web"))
}

// node is the step that changes a node.
func (st *story) node(says, node string, change map[string]any) step {
	return step{says: says, do: func(ctx context.Context, s *side) error { return s.patch(ctx, "nodes", "", node, change) }}
}
