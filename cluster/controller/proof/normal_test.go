package proof

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What two runs do not have in common is taken out of objects and Events: UIDs, times, addresses, the random letters
// at the end of names, and which of two equally good nodes the scheduler took.

var (
	uid     = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	instant = regexp.MustCompile(`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})|\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}[^"]* UTC`)
	minute  = regexp.MustCompile(`\b(cron)-\d{8}\b`)
	place   = regexp.MustCompile(`\bnode-\d+\b`)
	refused = regexp.MustCompile(`pods \\?"(\w+(-[0-9a-f]{8,10})?)-[a-z0-9]{5}\\?" is forbidden`)
	letters = regexp.MustCompile(`[a-z0-9]+(-[a-z0-9]+)+`)
	several = regexp.MustCompile(`by more than one HPA \(e\.g\. \[[^\]]*\]`)
)

// told is a text without what differs by chance.
func (s *side) told(text string) string {
	text = uid.ReplaceAllString(text, "UID")
	text = instant.ReplaceAllString(text, "TIME")
	text = letters.ReplaceAllStringFunc(text, func(w string) string {
		if known := s.drawn[w]; known != "" {
			return known
		}
		return w
	})
	text = several.ReplaceAllString(text, "by more than one HPA (e.g. [several]") // in the order of a map
	text = refused.ReplaceAllString(text, "pods $1-# is forbidden")               // it never was
	return minute.ReplaceAllString(text, "$1-MINUTE")
}

// kinds are those whose objects are compared, each in a line.
var kinds = []string{
	"deployments", "replicasets", "replicationcontrollers", "statefulsets", "daemonsets", "controllerrevisions", "jobs", "cronjobs", "pods",
	"resourcequotas", "persistentvolumeclaims", "poddisruptionbudgets", "horizontalpodautoscalers",
}

// actors are the components of Kubernetes' controller manager whose Events are compared.
var actors = map[string]bool{
	"deployment-controller": true, "replicaset-controller": true, "replication-controller": true, "statefulset-controller": true,
	"daemonset-controller": true, "job-controller": true, "cronjob-controller": true, "node-controller": true, "taint-eviction-controller": true,
	"controllermanager": true, "resource-quota-controller": true,
	"persistentvolume-controller": true, "attachdetach-controller": true, "volume_expand": true, "ephemeral_volume": true, "horizontal-pod-autoscaler": true,
}

// picture is what is to be seen of a story: a line for each object, and for each Event.
func (s *side) picture(ns string, nodes []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, resource := range kinds {
		for _, o := range s.all(resource, ns) {
			lines = append(lines, s.line(o))
		}
	}
	lines = append(lines, s.volumes(ns, nodes)...)
	for i, name := range nodes {
		if n := s.node(name); n != nil {
			lines = append(lines, s.nodeLine(i, n))
		}
	}
	events := map[string]int64{}
	for _, e := range append(s.all("events", ns), s.eventsOfVolumes(ns)...) {
		if line, n := s.event(e); line != "" {
			events[line] += n
		}
	}
	for line, n := range events {
		lines = append(lines, fmt.Sprintf("%s ×%d", line, n)) // ×0: however often
	}
	slices.Sort(lines)
	return lines
}

// again are Events that tell of a try that failed; how often it is made depends on the clock.
var again = regexp.MustCompile(`^(FailedCreate|FailedDelete|FailedUpdate|NoPods|CalculateExpectedPodCountFailed|FailedBinding|ExternalProvisioning|WaitForFirstConsumer|ProvisioningFailed|ExternalExpanding|FailedAttachVolume|VolumeMismatch|FailedGetScale|FailedGetResourceMetric|FailedComputeMetricsReplicas|AmbiguousSelector)$`)

func (s *side) event(e *unstructured.Unstructured) (string, int64) {
	component, _, _ := unstructured.NestedString(e.Object, "source", "component")
	if !actors[component] {
		return "", 0
	}
	get := func(path ...string) string {
		text, _, _ := unstructured.NestedString(e.Object, path...)
		return text
	}
	n, _, _ := unstructured.NestedInt64(e.Object, "count")
	line := fmt.Sprintf("Event %s %s: %s %s by %s: %s", get("involvedObject", "kind"), s.told(get("involvedObject", "name")), get("type"), get("reason"), component, strings.TrimPrefix(s.told(get("message")), "(combined from similar events): "))
	switch get("reason") {
	case "NotDeleted":
		return "", 0 // see confirmed
	case "WaitForFirstConsumer", "WaitForPodScheduled":
		// Whether the claim or its pod is seen first is chance where both are made together.
		if !strings.HasPrefix(get("involvedObject", "name"), "mine-") || get("reason") == "WaitForPodScheduled" {
			return "", 0
		}
	}
	if strings.Contains(get("message"), "the object has been modified") {
		return "", 0 // whose cache was behind is a matter of milliseconds
	}
	// Upstream deletes a pod again when the cache does not show yet that it is being deleted.
	if again.MatchString(get("reason")) || component == "statefulset-controller" && get("reason") == "SuccessfulDelete" {
		return line, 0
	}
	return line, max(n, 1)
}

func (s *side) nodeLine(i int, n *unstructured.Unstructured) string {
	taints, _, _ := unstructured.NestedSlice(n.Object, "spec", "taints")
	slices.SortFunc(taints, func(a, b any) int { return strings.Compare(text(a), text(b)) }) // in the order in which two workers came
	conditions, _, _ := unstructured.NestedSlice(n.Object, "status", "conditions")
	keep := map[string]any{"taints": taints, "conditions": conditions}
	return fmt.Sprintf("Node %c: %s", 'a'+i, s.told(text(s.plain("", keep))))
}

// line is an object without what differs by chance.
func (s *side) line(o *unstructured.Unstructured) string {
	meta, _ := o.Object["metadata"].(map[string]any)
	kept := map[string]any{}
	for _, key := range []string{"labels", "annotations", "finalizers", "ownerReferences", "deletionGracePeriodSeconds"} {
		if v, ok := meta[key]; ok {
			kept[key] = v
		}
	}
	kept["going"] = o.GetDeletionTimestamp() != nil
	all := map[string]any{"metadata": kept}
	for key, v := range o.Object {
		switch key {
		case "metadata", "apiVersion", "kind":
		case "status":
			all[key] = s.status(o, v)
		default:
			all[key] = v
		}
	}
	line := fmt.Sprintf("%s %s: %s", o.GetKind(), s.told(o.GetName()), s.told(text(s.plain("", all))))
	switch o.GetKind() {
	case "Pod", "PersistentVolumeClaim", "VolumeAttachment":
		return place.ReplaceAllString(line, "node-#")
	}
	return line
}

// status says of observedGeneration whether it is up to date, and leaves the kubelet's part out of a pod's.
func (s *side) status(o *unstructured.Unstructured, v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	m = maps.Clone(m)
	if seen, ok := m["observedGeneration"].(int64); ok {
		m["observedGeneration"] = "behind"
		if seen == o.GetGeneration() {
			m["observedGeneration"] = "current"
		}
	}
	switch o.GetKind() {
	case "Pod":
	case "HorizontalPodAutoscaler":
		return autoscaler(m)
	default:
		return m
	}
	kept := map[string]any{}
	for _, key := range []string{"phase", "reason", "message", "qosClass"} {
		if v, ok := m[key]; ok {
			kept[key] = v
		}
	}
	conditions, _ := m["conditions"].([]any)
	var plain []any
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok {
			c = maps.Clone(c)
			delete(c, "observedGeneration") // the kubelet's, sooner or later
			plain = append(plain, c)
		}
	}
	kept["conditions"] = plain
	containers, _ := m["containerStatuses"].([]any)
	for _, c := range containers {
		c, _ := c.(map[string]any)
		state, _ := c["state"].(map[string]any)
		for how, of := range state {
			of, _ := of.(map[string]any)
			reason, _ := of["reason"].(string)
			if reason == "ImagePullBackOff" || reason == "ErrImagePull" {
				reason = "NoImage"
			}
			kept["container "+c["name"].(string)] = fmt.Sprint(how, " ", reason, " ", of["exitCode"], " restarts ", c["restartCount"])
		}
	}
	return kept
}

// chance are fields whose values no two runs have in common.
var chance = map[string]bool{
	"uid": true, "resourceVersion": true, "creationTimestamp": true, "nodeName": true, "lastHeartbeatTime": true, "currentRevisionHash": true, "storage.kubernetes.io/csiProvisionerIdentity": true,
	"devicePath": true,
}

// plain takes out of a value what differs by chance.
func (s *side) plain(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, of := range v {
			if chance[k] {
				continue
			}
			if strings.HasPrefix(k, "kube-api-access-") {
				k = "kube-api-access-#"
			}
			out[k] = s.plain(k, of)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, of := range v {
			out[i] = s.plain(key, of)
		}
		if key == "uncountedTerminatedPods" || key == "active" {
			slices.SortFunc(out, func(a, b any) int { return strings.Compare(text(a), text(b)) })
		}
		return out
	case string:
		if strings.HasPrefix(v, "kube-api-access-") {
			return "kube-api-access-#"
		}
	}
	return v
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// extent is how far the number of a story's pods went in one step: of those that are not being deleted, and of those
// of them that are ready.
type extent struct {
	pods                               map[string]bool // whether it is ready, by name
	most, least, readyMost, readyLeast int
}

func newExtent(pods []*unstructured.Unstructured) *extent {
	e := &extent{pods: map[string]bool{}}
	for _, p := range pods {
		e.take(p, false)
	}
	n, ready := e.count()
	e.most, e.least, e.readyMost, e.readyLeast = n, n, ready, ready
	return e
}

// see takes note of a pod that has changed.
func (e *extent) see(p *unstructured.Unstructured, gone bool) {
	e.take(p, gone)
	n, ready := e.count()
	e.most, e.least, e.readyMost, e.readyLeast = max(e.most, n), min(e.least, n), max(e.readyMost, ready), min(e.readyLeast, ready)
}

func (e *extent) take(p *unstructured.Unstructured, gone bool) {
	if gone || p.GetDeletionTimestamp() != nil {
		delete(e.pods, p.GetName())
		return
	}
	conditions, _, _ := unstructured.NestedSlice(p.Object, "status", "conditions")
	e.pods[p.GetName()] = is(conditions, "Ready")
}

func (e *extent) count() (n, ready int) {
	for _, is := range e.pods {
		if is {
			ready++
		}
	}
	return len(e.pods), ready
}

func (e *extent) String() string {
	return fmt.Sprintf("%d to %d pods, %d to %d of them ready", e.least, e.most, e.readyLeast, e.readyMost)
}

// apart says what of two pictures is not the same: of objects on both sides only the fields.
func apart(a, b []string, nameA, nameB string) string {
	var lines []string
	onlyA, onlyB := differ(a, b)
	for _, l := range onlyA {
		head, _, _ := strings.Cut(l, ": {")
		i := slices.IndexFunc(onlyB, func(m string) bool { return strings.HasPrefix(m, head+": {") })
		if i < 0 {
			lines = append(lines, fmt.Sprintf("only %s: %.700s", nameA, l))
			continue
		}
		fieldsA, fieldsB := differ(leaves(l), leaves(onlyB[i]))
		lines = append(lines, fmt.Sprintf("%s:\n    %s: %s\n    %s: %s", head, nameA, strings.Join(fieldsA, ", "), nameB, strings.Join(fieldsB, ", ")))
		onlyB = slices.Delete(onlyB, i, i+1)
	}
	for _, l := range onlyB {
		lines = append(lines, fmt.Sprintf("only %s: %.700s", nameB, l))
	}
	return strings.Join(lines, "\n")
}

// leaves are the fields of an object, each with its path.
func leaves(line string) (all []string) {
	_, object, _ := strings.Cut(line, ": ")
	var v any
	if json.Unmarshal([]byte(object), &v) != nil {
		return []string{line}
	}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, of := range v {
				walk(path+"."+k, of)
			}
		case []any:
			for i, of := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), of)
			}
		default:
			all = append(all, path+"="+text(v))
		}
	}
	walk("", v)
	return all
}

// differ lists the lines that only one of two pictures has.
func differ(a, b []string) (onlyA, onlyB []string) {
	count := map[string]int{}
	for _, l := range a {
		count[l]++
	}
	for _, l := range b {
		count[l]--
	}
	for _, l := range slices.Sorted(maps.Keys(count)) {
		for n := count[l]; n > 0; n-- {
			onlyA = append(onlyA, l)
		}
		for n := count[l]; n < 0; n++ {
			onlyB = append(onlyB, l)
		}
	}
	return onlyA, onlyB
}
