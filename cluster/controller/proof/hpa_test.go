package proof

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kviz/assets"
	"kviz/cluster/control"
)

// metrics has metrics-server run on a node that no story has.
func (s *side) metrics(t *testing.T, node string) {
	t.Helper()
	manifest, err := fs.ReadFile(assets.Manifests(), "manifests/metrics-server.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if code := s.C.Exec(t.Context(), "kubectl apply -f -", control.Streams{In: bytes.NewReader(manifest), Out: &out, Err: &out}); code != 0 {
		t.Fatalf("%s: metrics-server: %s", s.Name, out.String())
	}
	if err := s.patch(t.Context(), "deployments", "kube-system", "metrics-server", map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"nodeSelector": map[string]any{"kubernetes.io/hostname": node},
	}}}}); err != nil {
		t.Fatal(err)
	}
}

// measured says that a pod of a story has no metrics yet, or none of so much CPU, unless that is "".
func (s *side) measured(ns, each string) string {
	data, err := s.API.Discovery().RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/namespaces/" + ns + "/pods").DoRaw(context.Background())
	if err != nil {
		return err.Error()
	}
	var list struct {
		Items []struct {
			Metadata   struct{ Name string }
			Containers []struct{ Usage map[string]resource.Quantity }
		}
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return err.Error()
	}
	takes := map[string]int64{}
	for _, m := range list.Items {
		for _, c := range m.Containers {
			cpu := c.Usage["cpu"]
			takes[m.Metadata.Name] += cpu.MilliValue()
		}
	}
	for _, p := range s.all("pods", ns) {
		cpu, there := takes[p.GetName()]
		switch {
		case !there:
			return "no metrics of " + p.GetName()
		case each != "" && fmt.Sprint(cpu, "m") != each && fmt.Sprint(cpu-1, "m") != each: // it is rounded up
			return fmt.Sprintf("%s takes %dm, not %s", p.GetName(), cpu, each)
		}
	}
	return ""
}

// syncs is for how long an autoscaler is given: two of its syncs and one scrape of metrics-server.
const syncs = 47 * time.Second

// scaled lets a step last for some syncs, until the workload has so many pods, unless that is negative.
func (st *story) scaled(next step, want int) step {
	var began time.Time
	next.patience = 150 * time.Second
	next.until = func(s *side) string {
		if began.IsZero() {
			began = time.Now()
		}
		if want >= 0 {
			for _, o := range s.all("deployments", st.ns) {
				if n, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); n != int64(want) {
					return fmt.Sprintf("%d replicas, not %d", n, want)
				}
			}
		}
		if time.Since(began) < syncs {
			return "its time is not over"
		}
		for _, o := range s.all("horizontalpodautoscalers", st.ns) {
			if strings.Contains(text(o.Object["status"]), "SucceededRescale") {
				return "it has not looked since it scaled"
			}
		}
		return ""
	}
	return next
}

// hpa is a story of an autoscaler: its bounds, its policies, or a load that its pods share.
func (st *story) hpa() {
	switch st.IntN(5) {
	case 0, 1:
		st.hpaOfBounds()
	case 2, 3:
		st.hpaOfPolicies()
	case 4:
		st.hpaOfShared()
	}
}

// scalable is the Deployment that is scaled.
func (st *story) scalable(replicas int, resources string) step {
	return st.create(fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
%s`, replicas, strings.Replace(st.pods(""), `image: "nginx:1.27"`, `image: "nginx:1.27", resources: `+resources, 1)))
}

// load is the step that gives pods something to do.
func (st *story) load(says, flags string) step {
	return step{says: says, do: func(ctx context.Context, s *side) error {
		return s.exec(ctx, fmt.Sprintf("kviz load deployment/web -n %s %s", st.ns, flags))
	}}
}

const idle, busily = "2m", "900m"

// each is the step after which every pod takes so much.
func (st *story) each(cpu string) step {
	return st.load("each pod takes "+cpu, "--each --cpu "+cpu)
}

// begin makes the Deployment, and gives its pods their first load until it is measured; each is what a pod takes then,
// where that is known.
func (st *story) begin(replicas int, resources string, load step, each string) {
	st.add(st.scalable(replicas, resources))
	st.add(st.also(st.scaled(load, replicas), func(s *side) string { return s.measured(st.ns, each) }))
}

// also lets a step last until something else is there as well.
func (st *story) also(next step, missing func(s *side) string) step {
	first := next.until
	next.until = func(s *side) string { return cmp.Or(missing(s), first(s)) }
	return next
}

// turn changes what every pod takes while the autoscaler stands still, and then lets it go on with a behavior. The figures
// of a metrics-server are means of 15 seconds, of which some are before the change: what an autoscaler makes of those
// depends on when it looks.
func (st *story) turn(cpu string, at int) {
	next := st.also(st.scaled(st.each(cpu), at), func(s *side) string { return s.measured(st.ns, cpu) })
	do := next.do
	next.says += ", while the autoscaler stands still"
	next.do = func(ctx context.Context, s *side) error {
		still := map[string]any{"selectPolicy": "Disabled", "stabilizationWindowSeconds": 0}
		if err := s.patch(ctx, "horizontalpodautoscalers", st.ns, "web", spec("behavior", map[string]any{"scaleUp": still, "scaleDown": still})); err != nil {
			return err
		}
		return do(ctx, s)
	}
	st.add(next)
}

// behave is the step that gives the autoscaler a behavior in the place of the one that it had.
func (st *story) behave(behavior string) step {
	return step{says: "behavior " + cmp.Or(behavior, "as usual"), do: func(ctx context.Context, s *side) error {
		if behavior == "" {
			return s.patch(ctx, "horizontalpodautoscalers", st.ns, "web", spec("behavior", nil))
		}
		var wanted map[string]map[string]any
		if err := yaml.Unmarshal([]byte(behavior), &wanted); err != nil {
			return err
		}
		change := map[string]any{}
		for _, direction := range []string{"scaleUp", "scaleDown"} {
			rules := map[string]any{"selectPolicy": nil, "stabilizationWindowSeconds": nil, "policies": nil}
			maps.Copy(rules, wanted[direction])
			change[direction] = rules
		}
		return s.patch(ctx, "horizontalpodautoscalers", st.ns, "web", spec("behavior", change))
	}}
}

// autoscale is an autoscaler of a Deployment, with a target of 50m for each pod.
func autoscale(name, target string, least, most int, behavior string) string {
	if behavior != "" {
		behavior = "  behavior: " + behavior + "\n"
	}
	return fmt.Sprintf(`apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: %s}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %s}
  minReplicas: %d
  maxReplicas: %d
%s  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
`, name, target, least, most, behavior)
}

// hpaOfBounds: the bounds cut off each number that depends on when pods are measured.
func (st *story) hpaOfBounds() {
	least, most, from := 1+st.IntN(2), 3+st.IntN(2), 2
	requests := "{requests: {cpu: 100m}}"
	bare := st.IntN(6) == 0
	if bare {
		requests = "{}"
	}
	busy := st.IntN(2) == 0
	takes := func() string { return map[bool]string{true: busily, false: idle}[busy] }
	st.begin(from, requests, st.each(takes()), takes())
	soon := st.IntN(3) > 0 // it shrinks at once
	behavior := ""
	if soon {
		behavior = "{scaleDown: {stabilizationWindowSeconds: 0}}"
	}
	target, nobody := "web", st.IntN(6) == 0
	if nobody {
		target = "nobody"
	}
	hpa := func(name string) string { return autoscale(name, target, least, most, behavior) }
	// What comes of it; nothing can be said where it has no value.
	at, wasBusy := from, false
	now := func() int {
		switch {
		case nobody || bare:
			if !nobody && at > 0 { // without a value it keeps the bounds
				at = min(max(at, least), most)
			}
		case at == 0:
		case busy || !soon && wasBusy: // what it recommended holds for five minutes
			at, wasBusy = most, true
		case soon:
			at = least
		default:
			at = min(max(at, least), most)
		}
		return at
	}
	st.add(st.scaled(st.create(hpa("web")), now()))
	for range 2 {
		switch st.IntN(5) {
		case 0, 1:
			least = 1 + st.IntN(3)
			most = least + 1 + st.IntN(3)
			st.add(st.scaled(st.patch(fmt.Sprintf("from %d to %d", least, most), "horizontalpodautoscalers", "web", map[string]any{"spec": map[string]any{"minReplicas": least, "maxReplicas": most}}), now()))
		case 2:
			busy = !busy
			if at == 0 || bare || nobody {
				st.add(st.scaled(st.each(takes()), now()))
				continue
			}
			st.turn(takes(), at)
			st.add(st.scaled(st.behave(behavior), now()))
		case 3:
			at = 0
			st.add(st.scaled(st.patch("scale to 0", "deployments", "web", spec("replicas", 0)), 0))
		case 4:
			if nobody {
				continue
			}
			st.add(st.scaled(st.create(hpa("web-2")), -1))
			st.add(st.remove("deployments", "web"))
			return
		}
	}
	st.add(st.remove("deployments", "web"))
}

// rules are how fast an autoscaler may go in a direction. What it did in a period counts: one of 10 seconds has none of its
// last look in it, one of 25 has that one. It never goes where disabled says so.
func (st *story) rules() (text string, disabled bool) {
	if st.IntN(6) == 0 {
		return "{selectPolicy: Disabled, stabilizationWindowSeconds: 0}", true
	}
	period := one(st, 10, 25)
	policies := []string{
		fmt.Sprintf("{type: Pods, value: %d, periodSeconds: %d}", 1+st.IntN(3), period),
		fmt.Sprintf("{type: Percent, value: %d, periodSeconds: %d}", one(st, 50, 100), period),
	}
	if st.IntN(2) == 0 {
		slices.Reverse(policies)
	}
	policies = policies[:1+st.IntN(2)]
	return fmt.Sprintf("{selectPolicy: %s, stabilizationWindowSeconds: %d, policies: [%s]}", one(st, "Max", "Min"), one(st, 0, 0, 20), strings.Join(policies, ", ")), false
}

// hpaOfPolicies: an autoscaler goes up and down in steps, which are compared.
func (st *story) hpaOfPolicies() {
	least, most, at := 1+st.IntN(2), 5+st.IntN(3), 2
	takes := one(st, idle, busily)
	st.begin(at, "{requests: {cpu: 100m}}", st.each(takes), takes)
	rules := func() string {
		up, noUp := st.rules()
		down, noDown := st.rules()
		switch {
		case takes == busily && !noUp:
			at = most
		case takes == idle && !noDown:
			at = least
		}
		return fmt.Sprintf("{scaleUp: %s, scaleDown: %s}", up, down)
	}
	rest := func(next step) {
		next = st.also(st.scaled(next, at), func(s *side) string { return s.settled(st.ns) })
		next.patience = 6 * time.Minute
		st.add(next)
	}
	behavior := rules()
	rest(st.create(autoscale("web", "web", least, most, behavior)))
	for range 1 + st.IntN(2) {
		takes = map[string]string{idle: busily, busily: idle}[takes]
		st.turn(takes, at)
		behavior = rules()
		rest(st.behave(behavior))
	}
	st.add(st.remove("deployments", "web"))
}

// settled says that an autoscaler has scaled so lately that it may count in what it does next.
func (s *side) settled(ns string) string {
	for _, o := range s.all("horizontalpodautoscalers", ns) {
		last, err := time.Parse(time.RFC3339, at(o, "status", "lastScaleTime"))
		if err == nil && time.Since(last) < 35*time.Second {
			return "it has scaled less than 35 seconds ago"
		}
	}
	return ""
}

// onTheWay are Events that tell of the numbers between two.
var onTheWay = regexp.MustCompile(`^Event (HorizontalPodAutoscaler|Deployment|ReplicaSet) .*: Normal (SuccessfulRescale|ScalingReplicaSet|SuccessfulCreate|SuccessfulDelete) `)

// hpaOfShared: pods share what there is to do, so that an autoscaler comes to rest between its bounds. The figures of
// pods that come are of before and after they shared, and how many there are on the way depends on when that is.
func (st *story) hpaOfShared() {
	least, most, at := 1+st.IntN(2), 4+st.IntN(2), 2
	// With 50m for each pod so much needs n of them, from any number that there are.
	work := func() (int, step) {
		n := 1 + st.IntN(6)
		load := st.load(fmt.Sprintf("the pods share %dm", 50*n-25), fmt.Sprintf("--cpu %dm", 50*n-25))
		return n, load
	}
	needs, load := work()
	st.begin(at, "{requests: {cpu: 100m}}", load, "")
	add := func(next step) {
		at = min(max(needs, least), most)
		next = st.also(st.scaled(next, at), func(s *side) string { return s.settled(st.ns) })
		next.not, next.patience = onTheWay, 4*time.Minute
		st.add(next)
	}
	add(st.create(autoscale("web", "web", least, most, "{scaleDown: {stabilizationWindowSeconds: 0}}")))
	for range 3 {
		if st.IntN(4) == 0 {
			least = 1 + st.IntN(3)
			most = least + 1 + st.IntN(3)
			add(st.patch(fmt.Sprintf("from %d to %d", least, most), "horizontalpodautoscalers", "web", map[string]any{"spec": map[string]any{"minReplicas": least, "maxReplicas": most}}))
			continue
		}
		needs, load = work()
		add(load)
	}
	gone := st.remove("deployments", "web")
	gone.not = onTheWay
	st.add(gone)
}

// autoscaler is an autoscaler's status without the figures and the times.
func autoscaler(status map[string]any) map[string]any {
	status = maps.Clone(status)
	delete(status, "currentMetrics")
	delete(status, "lastScaleTime")
	if conditions, ok := status["conditions"].([]any); ok { // in the order in which it first had them
		conditions = slices.Clone(conditions)
		kind := func(c any) string {
			of, _ := c.(map[string]any)
			text, _ := of["type"].(string)
			return text
		}
		slices.SortFunc(conditions, func(a, b any) int { return strings.Compare(kind(a), kind(b)) })
		status["conditions"] = conditions
	}
	return status
}
