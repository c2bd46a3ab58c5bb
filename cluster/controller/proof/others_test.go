package proof

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// finished says that a Job has not come to its end; one that is suspended, or that somebody else manages, need not.
func (s *side) finished(ns string) string {
	for _, o := range s.all("jobs", ns) {
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		managed, _, _ := unstructured.NestedString(o.Object, "spec", "managedBy")
		suspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend")
		if is(conditions, "Complete") || is(conditions, "Failed") || managed != "" || suspended && is(conditions, "Suspended") {
			continue
		}
		return "Job " + o.GetName() + " is not finished"
	}
	return ""
}

func is(conditions []any, kind string) bool {
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == kind && c["status"] == "True" {
			return true
		}
	}
	return false
}

func (st *story) job() {
	var spec, script string
	pods := 1 + st.IntN(3)
	at := one(st, 1, pods)
	indexed := false
	policy := ""
	switch st.IntN(8) {
	case 0: // all succeed
		script = "sleep 1"
		indexed = st.IntN(2) == 0
		spec = fmt.Sprintf("  completions: %d\n  parallelism: %d\n", pods, at)
	case 1: // one that fails until the limit
		script = "exit 3"
		spec = fmt.Sprintf("  backoffLimit: %d\n", st.IntN(2))
	case 2: // an index that fails
		indexed = true
		script = `test "$JOB_COMPLETION_INDEX" = 1 && exit 3; sleep 6`
		spec = fmt.Sprintf("  completions: %d\n  parallelism: %d\n  backoffLimitPerIndex: %d\n", 1+pods, 1+pods, st.IntN(2))
		if st.IntN(2) == 0 {
			spec += "  maxFailedIndexes: 0\n"
		}
	case 3: // an exit code that fails the Job, the index or nothing
		indexed = true
		script = `test "$JOB_COMPLETION_INDEX" = 1 && exit 42; sleep 3`
		action := one(st, "FailJob", "FailIndex", "Count", "Ignore")
		if action == "Ignore" {
			script = `test "$JOB_COMPLETION_INDEX" = 1 && exit 3; sleep 3`
		}
		spec = fmt.Sprintf("  completions: %d\n  parallelism: %d\n  backoffLimit: %d\n", 1+pods, 1+pods, st.IntN(2))
		if action == "FailIndex" {
			spec += "  backoffLimitPerIndex: 1\n"
		}
		policy = fmt.Sprintf("  podFailurePolicy: {rules: [{action: %s, onExitCodes: {operator: In, values: [42]}}, {action: Ignore, onPodConditions: [{type: DisruptionTarget, status: \"True\"}]}]}\n", action)
	case 4: // an index whose success is enough
		indexed = true
		script = `test "$JOB_COMPLETION_INDEX" = 0 && exit 0; sleep 300`
		spec = "  completions: 3\n  parallelism: 3\n" + one(st, "  successPolicy: {rules: [{succeededIndexes: \"0\"}]}\n", "  successPolicy: {rules: [{succeededCount: 1}]}\n")
	case 5: // a deadline
		script = "sleep 300"
		spec = fmt.Sprintf("  completions: %d\n  parallelism: %d\n  activeDeadlineSeconds: %d\n", pods, pods, 3+st.IntN(3))
	case 6: // suspended at first
		script = "sleep 2"
		spec = fmt.Sprintf("  suspend: true\n  completions: %d\n  parallelism: %d\n", pods, at)
	case 7: // a pod that is started again in its place
		script = "exit 3"
		spec = fmt.Sprintf("  backoffLimit: %d\n", st.IntN(2))
		policy = "RESTART"
	}
	restart := "Never"
	if policy == "RESTART" {
		policy, restart = "", "OnFailure"
	}
	if indexed {
		spec += "  completionMode: Indexed\n"
	}
	ttl := st.IntN(4) == 0
	if ttl {
		spec += "  ttlSecondsAfterFinished: 9\n"
	}
	if policy == "" && st.IntN(4) == 0 {
		spec += "  podReplacementPolicy: Failed\n"
	}
	if st.IntN(12) == 0 {
		spec += "  managedBy: example.com/mine\n"
	}
	first := st.create(fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
%s%s  template:
    spec:
      nodeSelector: {story: %s}
      restartPolicy: %s
      terminationGracePeriodSeconds: 1
      containers: [{name: c, image: busybox, command: [sh, -c, '%s']}]
`, spec, policy, st.ns, restart, script))
	done := func(s *side) string { return s.finished(st.ns) }
	first.until, first.patience = done, 90*time.Second
	suspend := st.patch("suspend", "jobs", "once", map[string]any{"spec": map[string]any{"suspend": true}})
	resume := st.patch("resume", "jobs", "once", map[string]any{"spec": map[string]any{"suspend": false}})
	resume.until, resume.patience = done, 90*time.Second
	switch {
	case strings.Contains(spec, "suspend"):
		st.add(first, resume)
	case script == "sleep 300" && st.IntN(2) == 0: // it is running when it is suspended
		first.until = nil
		first.says = strings.Replace(first.says, "activeDeadlineSeconds", "activeDeadlineSeconds", 1)
		st.add(first, suspend, resume)
	default:
		st.add(first)
	}
	if ttl {
		st.add(step{says: "its time is over", do: func(context.Context, *side) error { return nil }, until: func(s *side) string {
			if len(s.all("jobs", st.ns)) > 0 && !strings.Contains(spec, "managedBy") {
				return "it is there still"
			}
			return ""
		}})
		return
	}
	st.add(st.remove("jobs", "once"))
}

func (st *story) cronjob() {
	first := st.create(fmt.Sprintf(`apiVersion: batch/v1
kind: CronJob
metadata: {name: cron}
spec:
  schedule: "* * * * *"
  concurrencyPolicy: %s
  successfulJobsHistoryLimit: %d
  failedJobsHistoryLimit: %d
%s  jobTemplate:
    spec:
      backoffLimit: 0
      template:
        spec:
          nodeSelector: {story: %s}
          restartPolicy: Never
          terminationGracePeriodSeconds: 1
          containers: [{name: c, image: busybox, command: [sh, -c, '%s']}]
`, one(st, "Allow", "Forbid", "Replace"), 1+st.IntN(2), 1+st.IntN(2), one(st, "", "  startingDeadlineSeconds: 30\n", "  timeZone: Europe/Paris\n"), st.ns, one(st, "sleep 1", "exit 1", "sleep 300")))
	create := first.do
	first.do = func(ctx context.Context, s *side) error {
		for now := time.Now().Second(); now < 5 || now > 40; now = time.Now().Second() { // not at the turn of a minute
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(look):
			}
		}
		return create(ctx, s)
	}
	first.until = func(s *side) string {
		for _, o := range s.all("cronjobs", st.ns) {
			if last, _, _ := unstructured.NestedString(o.Object, "status", "lastScheduleTime"); last != "" {
				return ""
			}
		}
		return "nothing was scheduled"
	}
	first.patience = 2 * time.Minute
	st.add(first, st.patch("suspend", "cronjobs", "cron", spec("suspend", true)), st.remove("cronjobs", "cron"))
}

// quota: a workload that may not have all its pods, until the quota is raised.
func (st *story) quota() {
	st.add(st.create(fmt.Sprintf("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {pods: %d}}\n", 1+st.IntN(2))))
	replicas := 3 + st.IntN(2)
	kind := one(st, "ReplicaSet", "StatefulSet", "Deployment", "DaemonSet", "Job")
	resource := strings.ToLower(kind) + "s"
	name, head := "web", fmt.Sprintf("  replicas: %d\n  selector: {matchLabels: {app: web}}\n", replicas)
	switch kind {
	case "DaemonSet":
		head = "  selector: {matchLabels: {app: web}}\n"
	case "Job":
		head = fmt.Sprintf("  completions: %d\n  parallelism: %d\n", replicas, replicas)
	}
	version, template := "apps/v1", st.pods("")
	if kind == "Job" {
		version = "batch/v1"
		template = st.pods("      restartPolicy: Never\n")
		template = strings.Replace(template, `image: "nginx:1.27"`, `image: busybox, command: [sleep, "6"]`, 1)
	}
	made := st.create(fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec:\n%s  template:\n%s", version, kind, name, head, template))
	raised := st.patch("raise the quota", "resourcequotas", "q", spec("hard", map[string]any{"pods": 9}))
	raised.until, raised.patience = func(s *side) string {
		if n := len(s.owned(st.ns)); n < min(replicas, nodesOfStory) {
			return fmt.Sprintf("%d pods", n)
		}
		return s.finished(st.ns)
	}, 2*time.Minute
	if kind == "Job" {
		made.until, made.patience = func(s *side) string { return s.finished(st.ns) }, 2*time.Minute
	}
	st.add(made, raised)
	if kind != "Job" {
		// The quota is counted when the old pod goes, which is when the new one comes: it has been counted with it, or it is
		// not until the next resync.
		fewer := st.deletePods(1)
		fewer.not = regexp.MustCompile("^ResourceQuota ")
		st.add(fewer)
	}
	gone := st.remove(resource, name)
	gone.not = regexp.MustCompile("^ResourceQuota ")
	st.add(gone)
}

// death: a node stops; pods that do not bear it are deleted when their time is over, and come back with the node.
func (st *story) death() {
	kind := one(st, "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job")
	node := st.nodes[st.IntN(len(st.nodes))]
	bears := fmt.Sprintf(`      tolerations:
      - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: %d}
      - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: %d}
`, 2+st.IntN(4), 2+st.IntN(4))
	head := fmt.Sprintf("  replicas: %d\n  selector: {matchLabels: {app: web}}\n", 1+st.IntN(3))
	version, template := "apps/v1", st.pods(bears)
	switch kind {
	case "DaemonSet":
		head = "  selector: {matchLabels: {app: web}}\n"
	case "Job":
		version, head = "batch/v1", "  completions: 2\n  parallelism: 2\n"+one(st, "", "  podReplacementPolicy: Failed\n")
		template = strings.Replace(st.pods("      restartPolicy: Never\n"+bears), `image: "nginx:1.27"`, `image: busybox, command: [sleep, "300"]`, 1)
	}
	if kind != "DaemonSet" { // all of them on the node
		template = strings.Replace(template, "nodeSelector: {", "nodeSelector: {kubernetes.io/hostname: "+node+", ", 1)
	}
	st.add(st.create(fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: web}\nspec:\n%s  template:\n%s", version, kind, head, template)))
	tainted := func(want bool) func(s *side) string {
		return func(s *side) string {
			taints, _, _ := unstructured.NestedSlice(s.node(node).Object, "spec", "taints")
			if (len(taints) > 0) != want {
				return fmt.Sprintf("the taints of the node: %s", text(taints))
			}
			if !want && !s.ready(st.nodes) {
				return "a node is not ready"
			}
			return ""
		}
	}
	tainted2 := tainted(true)
	dies := step{
		says: "stop " + node, do: func(ctx context.Context, s *side) error { return s.exec(ctx, "kviz fault stop node/"+node) },
		until: func(s *side) string {
			if missing := tainted2(s); missing != "" {
				return missing
			}
			for _, o := range s.all("pods", st.ns) {
				at, _, _ := unstructured.NestedString(o.Object, "spec", "nodeName")
				if at == node && o.GetDeletionTimestamp() == nil && kind != "DaemonSet" {
					return "a pod on the node is not deleted"
				}
			}
			return ""
		}, patience: 3 * time.Minute,
	}
	if kind == "DaemonSet" {
		// Whether its status was written before or after the node had its taints depends on who is first; it is not written
		// again for the taint.
		dies.not = regexp.MustCompile("^" + kind + " ")
	}
	st.add(dies, step{
		says: "start " + node, do: func(ctx context.Context, s *side) error { return s.exec(ctx, "kviz fault start node/"+node) },
		until: tainted(false), patience: 2 * time.Minute,
		// Whether pods come to the node between the end of its one taint and the other's, and are deleted once more, is a matter
		// of milliseconds.
		not: regexp.MustCompile("^Event "),
	})
	gone := st.remove(strings.ToLower(kind)+"s", "web")
	gone.not = regexp.MustCompile("^Event ")
	st.add(gone)
}

// mend starts nodes that were stopped and takes off what a story has put on them.
func (s *side) mend(ctx context.Context, nodes []string) error {
	for _, n := range nodes {
		if !s.ready([]string{n}) {
			if err := s.exec(ctx, "kviz fault start node/"+n); err != nil && !strings.Contains(err.Error(), "runs") {
				return err
			}
		}
		if err := s.patch(ctx, "nodes", "", n, map[string]any{"metadata": map[string]any{"labels": map[string]any{"story": nil}}, "spec": map[string]any{"unschedulable": nil, "taints": s.taintsBut(n, "mine")}}); err != nil {
			return err
		}
	}
	return nil
}

// taintsBut are a node's taints without those of a key.
func (s *side) taintsBut(node, key string) (left []any) {
	taints, _, _ := unstructured.NestedSlice(s.node(node).Object, "spec", "taints")
	for _, t := range taints {
		if t, ok := t.(map[string]any); ok && t["key"] != key {
			left = append(left, t)
		}
	}
	return left
}

// ready reports whether nodes are ready, and without taints.
func (s *side) ready(nodes []string) bool {
	for _, name := range nodes {
		n := s.node(name)
		if n == nil {
			return false
		}
		taints, _, _ := unstructured.NestedSlice(n.Object, "spec", "taints")
		conditions, _, _ := unstructured.NestedSlice(n.Object, "status", "conditions")
		if len(taints) > 0 || !is(conditions, "Ready") {
			return false
		}
	}
	return true
}
