package proof

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

// measured says that a pod of a story has no metrics yet.
func (s *side) measured(ns string) string {
	data, err := s.API.Discovery().RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/namespaces/" + ns + "/pods").DoRaw(context.Background())
	if err != nil {
		return err.Error()
	}
	for _, p := range s.all("pods", ns) {
		if !strings.Contains(string(data), `"`+p.GetName()+`"`) {
			return "no metrics of " + p.GetName()
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

// hpa is the story of an autoscaler. Its bounds cut off each number that depends on when pods are measured.
func (st *story) hpa() {
	least, most, from := 1+st.IntN(2), 3+st.IntN(2), 2
	requests := "resources: {requests: {cpu: 100m}}"
	bare := st.IntN(6) == 0
	if bare {
		requests = "resources: {}"
	}
	st.add(st.create(fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
%s`, from, strings.Replace(st.pods(""), `image: "nginx:1.27"`, `image: "nginx:1.27", `+requests, 1))))
	load := func(cpu string) step {
		return step{says: "each pod takes " + cpu, do: func(ctx context.Context, s *side) error {
			return s.exec(ctx, fmt.Sprintf("kviz load deployment/web -n %s --each --cpu %s", st.ns, cpu))
		}}
	}
	busy := st.IntN(2) == 0
	first := load(map[bool]string{true: "300m", false: "2m"}[busy])
	waits := st.scaled(first, from)
	rest := waits.until
	waits.until = func(s *side) string {
		if missing := s.measured(st.ns); missing != "" {
			return missing
		}
		return rest(s)
	}
	st.add(waits)
	soon := st.IntN(3) > 0 // it shrinks at once
	behavior := ""
	if soon {
		behavior = "  behavior: {scaleDown: {stabilizationWindowSeconds: 0}}\n"
	}
	target, nobody := "web", st.IntN(6) == 0
	if nobody {
		target = "nobody"
	}
	hpa := func(name string) string {
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
			st.add(st.scaled(load(map[bool]string{true: "300m", false: "2m"}[busy]), now()))
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
