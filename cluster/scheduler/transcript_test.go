package scheduler_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/scheduler"
	"kviz/cluster/scheduler/configuration"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/raftstore/transcript"
)

// TestTranscripts runs the stories in testdata: "# comment", commands, "----",
// what happened. KVIZ_REWRITE=1 writes what happened anew.
func TestTranscripts(t *testing.T) { transcript.Run(t, replay) }

// env is a scheduler on an API server in memory.
type env struct {
	*clienttest.Bench
	c     client.Interface
	p     *sim.Process
	sched *scheduler.Scheduler
	seen  int // events already told of
	extra string
}

func start(b *clienttest.Bench, cfg scheduler.Config) *env {
	e := &env{Bench: b, c: b.Client()}
	cfg.NoElection = true
	e.p = b.Kernel.NewProcess(trace.Lane{Component: trace.CompScheduler})
	e.sched = scheduler.Start(e.p, e.c, cfg)
	return e
}

func replay(tb testing.TB, text string) string {
	var out strings.Builder
	clienttest.Run(tb, 1, func(b *clienttest.Bench, t *sim.Task) {
		var e *env
		var cfg scheduler.Config
		answer := false
		for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
			f := strings.Fields(line)
			switch {
			case line == "----":
				t.Sleep(100 * time.Millisecond)
				out.WriteString("----\n" + e.tell())
				answer = true
				continue
			case answer && line != "":
				continue // the old answer
			case len(f) > 0 && f[0] == "config":
				if file, ok := flags(f[1:])["file"]; ok {
					cfg.Configuration = configured(file)
				}
				if d, ok := flags(f[1:])["cycle"]; ok {
					cfg.CycleTime, _ = time.ParseDuration(d)
				}
				if n, ok := flags(f[1:])["trace"]; ok {
					cfg.TraceNodes, _ = strconv.Atoi(n)
				}
			case len(f) > 0 && !strings.HasPrefix(line, "#"):
				if e == nil {
					e = start(b, cfg)
					t.Sleep(10 * time.Millisecond)
				}
				e.do(t, f)
			}
			answer = false
			out.WriteString(line + "\n")
		}
	})
	return out.String()
}

// configured is a configuration of testdata.
func configured(file string) *config.KubeSchedulerConfiguration {
	cfg := clienttest.Must(configuration.Read(clienttest.Must(os.ReadFile("testdata/configuration/" + file))))
	clienttest.Must(0, scheduler.Check(cfg))
	return cfg
}

func flags(f []string) map[string]string {
	m := map[string]string{}
	for _, x := range f {
		k, v, _ := strings.Cut(x, "=")
		m[k] = v
	}
	return m
}

// do runs one command of a transcript.
func (e *env) do(t *sim.Task, f []string) {
	switch f[0] {
	case "node":
		clienttest.Must(client.Create(t, e.c, client.Nodes, "", node(f[1], flags(f[2:]))))
	case "nodes":
		n, err := strconv.Atoi(f[1])
		clienttest.Must(n, err)
		for i := range n {
			clienttest.Must(client.Create(t, e.c, client.Nodes, "", node(fmt.Sprintf("node-%03d", i+1), flags(f[2:]))))
		}
	case "pod":
		clienttest.Must(client.Create(t, e.c, client.Pods, "demo", pod(f[1], flags(f[2:]))))
	case "class", "claim", "volume", "bind", "limit", "claims":
		e.storage(t, f)
	case "devices", "device-class", "taint-device", "resource-claim", "taken":
		e.devices(t, f)
	case "budget": // budget NAME LABEL allowed=N: for the pods with the label
		key, value, _ := strings.Cut(f[2], ":")
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: f[1]}}
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
		n, err := strconv.Atoi(flags(f[3:])["allowed"])
		b.Status.DisruptionsAllowed = int32(clienttest.Must(n, err))
		clienttest.Must(client.Create(t, e.c, client.PodDisruptionBudgets, "demo", b))
	case "delete":
		clienttest.Must(0, e.c.Delete(t, client.Pods, "demo", f[1], metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	case "delete-node":
		clienttest.Must(0, e.c.Delete(t, client.Nodes, "", f[1], metav1.DeleteOptions{}))
	case "pods":
		for _, o := range e.Objects(client.Pods) {
			p := o.(*corev1.Pod)
			line := fmt.Sprintf("  %s on %s", p.Name, or(p.Spec.NodeName, "-"))
			if p.Status.NominatedNodeName != "" {
				line += ", nominated to " + p.Status.NominatedNodeName
			}
			if p.DeletionTimestamp != nil {
				line += ", terminating"
			}
			e.extra += line + "\n"
		}
		for _, o := range e.Objects(client.NewEvents) {
			if ev := o.(*eventsv1.Event); ev.Reason == "Preempted" || ev.Reason == "FailedScheduling" && strings.HasPrefix(ev.Note, "0/1 nodes are available: 1 re") {
				e.extra += fmt.Sprintf("  Event on %s: %s %s\n", ev.Regarding.Name, ev.Reason, ev.Note)
			}
		}
	case "allow":
		if !e.sched.Allow("demo/"+f[1], nil) {
			e.extra += "  " + f[1] + " does not wait at Permit\n"
		}
	case "reject":
		if !e.sched.Reject("demo/"+f[1], "rejected by hand", nil) {
			e.extra += "  " + f[1] + " does not wait at Permit\n"
		}
	case "label":
		p := clienttest.Must(client.Get[*corev1.Pod](t, e.c, client.Pods, "demo", f[1]))
		key, value, _ := strings.Cut(f[2], ":")
		p.Labels = map[string]string{key: value}
		clienttest.Must(client.Update(t, e.c, client.Pods, "demo", p))
	case "ungate":
		p := clienttest.Must(client.Get[*corev1.Pod](t, e.c, client.Pods, "demo", f[1]))
		p.Spec.SchedulingGates = nil
		clienttest.Must(client.Update(t, e.c, client.Pods, "demo", p))
	case "change": // change NODE …: taints and labels anew
		n := clienttest.Must(client.Get[*corev1.Node](t, e.c, client.Nodes, "", f[1]))
		fresh := node(f[1], flags(f[2:]))
		n.Labels, n.Spec = fresh.Labels, fresh.Spec
		clienttest.Must(client.Update(t, e.c, client.Nodes, "", n))
	case "configure": // a scheduler with another configuration takes over
		e.p.Kill()
		e.p = e.Kernel.NewProcess(trace.Lane{Component: trace.CompScheduler})
		e.sched = scheduler.Start(e.p, e.c, scheduler.Config{NoElection: true, Configuration: configured(f[1])})
	case "sleep":
		d, err := time.ParseDuration(f[1])
		clienttest.Must(d, err)
		t.Sleep(d)
	case "down":
		e.SetDown(true)
	case "up":
		e.SetDown(false)
	default:
		panic("no command " + f[0])
	}
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func node(name string, f map[string]string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	n.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")}
	for k, v := range f {
		switch k {
		case "cpu", "memory", "pods", "example.com/gpu":
			n.Status.Allocatable[corev1.ResourceName(k)] = resource.MustParse(v)
		case "labels":
			for _, l := range list(v) {
				key, value, _ := strings.Cut(l, ":")
				n.Labels[key] = value
			}
		case "taints":
			for _, s := range list(v) {
				kv, effect, _ := strings.Cut(s, ":")
				key, value, _ := strings.Cut(kv, "/")
				n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
			}
		case "cordoned":
			n.Spec.Unschedulable = true
		case "images":
			for _, s := range list(v) {
				image, mb, _ := strings.Cut(s, "/")
				size, err := strconv.ParseInt(mb, 10, 64)
				n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{image}, SizeBytes: clienttest.Must(size, err) << 20})
			}
		default:
			panic("node has no " + k)
		}
	}
	return n
}

func pod(name string, f map[string]string) *corev1.Pod {
	c := corev1.Container{Name: "c", Image: "web:1", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}}}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}, Spec: corev1.PodSpec{SchedulerName: "default-scheduler"}}
	p.Status.Phase = corev1.PodPending
	for k, v := range f {
		switch k {
		case "cpu", "memory", "example.com/gpu":
			c.Resources.Requests[corev1.ResourceName(k)] = resource.MustParse(v)
		case "image":
			c.Image = v
		case "claim":
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: v, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: v}}})
		case "devices": // the names of its ResourceClaims
			for _, name := range list(v) {
				p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: name, ResourceClaimName: &name})
			}
		case "labels":
			key, value, _ := strings.Cut(v, ":")
			p.Labels = map[string]string{key: value}
		case "port":
			n, err := strconv.Atoi(v)
			c.Ports = append(c.Ports, corev1.ContainerPort{HostPort: int32(clienttest.Must(n, err)), ContainerPort: 80, Protocol: corev1.ProtocolTCP})
		case "selector":
			key, value, _ := strings.Cut(v, ":")
			p.Spec.NodeSelector = map[string]string{key: value}
		case "prefer":
			key, value, _ := strings.Cut(v, ":")
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
				Weight: 50, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}}},
			}}}}
		case "only": // as a DaemonSet's pod
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{v}}},
			}}}}}
		case "tolerates":
			p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: v, Operator: corev1.TolerationOpExists})
		case "priority":
			n, err := strconv.Atoi(v)
			clienttest.Must(n, err)
			p.Spec.Priority = new(int32)
			*p.Spec.Priority = int32(n)
		case "preemption":
			policy := corev1.PreemptionPolicy(v)
			p.Spec.PreemptionPolicy = &policy
		case "gate":
			p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v}}
		case "scheduler":
			p.Spec.SchedulerName = v
		default:
			panic("pod has no " + k)
		}
	}
	p.Spec.Containers = []corev1.Container{c}
	return p
}

// tell writes what the scheduler did since it last told.
func (e *env) tell() string {
	var out strings.Builder
	var rows [][]string
	table := func() {
		out.WriteString(columns(rows))
		rows = nil
	}
	for ; e.seen < len(e.Events); e.seen++ {
		ev := e.Events[e.seen]
		switch p := ev.Payload.(type) {
		case *trace.FilterVerdict:
			row := []string{"  " + p.Node, "fits"}
			if p.By != "" {
				row = []string{"  " + p.Node, "rejected by " + p.By + ": " + strings.Join(p.Reasons, ", ")}
			}
			rows = append(rows, row)
		case *trace.NodeScore:
			if len(rows) == 0 {
				head := []string{"  score"}
				for _, s := range p.Scores {
					head = append(head, s.Plugin)
				}
				rows = append(rows, append(head, "total"))
			}
			row := []string{"  " + p.Node}
			for _, s := range p.Scores {
				row = append(row, fmt.Sprintf("%d>%d*%d=%d", s.Raw, s.Normalized, s.Weight, s.Weighted))
			}
			rows = append(rows, append(row, strconv.FormatInt(p.Total, 10)))
		case *trace.ExtensionPoint:
			table()
			if p.Note != "" && (p.Point == "PreFilter" || p.Point == "Filter" || p.Point == "PreScore" || p.Point == "PreEnqueue") {
				fmt.Fprintf(&out, "  %s: %s\n", p.Point, p.Note)
			}
		case *trace.SchedCycleStart:
			fmt.Fprintf(&out, "%.3fs cycle of %s, attempt %d, %d nodes\n", ev.At.Seconds(), p.Pod, p.Attempt, p.Nodes)
		case *trace.SchedQueueMove:
			fmt.Fprintf(&out, "%.3fs queue %s: %s -> %s (%s) active %d backoff %d unschedulable %d\n", ev.At.Seconds(), p.Pod, or(p.From, "-"), or(p.To, "-"), p.Event, p.Active, p.Backoff, p.Unschedulable)
			if p.Plugin != "" {
				fmt.Fprintf(&out, "  %s\n", view.MovedBy(p))
			}
			if len(p.Rejected) > 0 {
				fmt.Fprintf(&out, "  rejected by %s\n", strings.Join(p.Rejected, " "))
			}
		case *trace.PermitWait:
			table()
			fmt.Fprintf(&out, "%.3fs at Permit %s on %s: %s", ev.At.Seconds(), p.Pod, p.Node, p.State)
			if p.By != "" {
				out.WriteString(" by " + p.By)
			}
			if p.Message != "" {
				out.WriteString(": " + p.Message)
			}
			for _, pl := range p.Pending {
				fmt.Fprintf(&out, ", %s has until %.3fs", pl.Plugin, pl.Until.Seconds())
			}
			out.WriteString("\n")
		case *trace.SchedQueueStay:
			fmt.Fprintf(&out, "%.3fs queue %s: %s\n", ev.At.Seconds(), p.Pod, view.NotMoved(p))
		case *trace.Decision:
			table()
			switch {
			case ev.Kind == trace.SchedBind && p.Message != "":
				fmt.Fprintf(&out, "%.3fs bind %s to %s failed: %s\n", ev.At.Seconds(), p.Pod, p.Node, p.Message)
			case ev.Kind == trace.SchedBind:
				fmt.Fprintf(&out, "%.3fs bound %s to %s\n", ev.At.Seconds(), p.Pod, p.Node)
			case p.Node == "":
				fmt.Fprintf(&out, "decision: no node: %s\n", p.Message)
				for _, c := range p.Candidates {
					fmt.Fprintf(&out, "  room could be made on %s: %s\n", c.Node, victims(c.Victims))
				}
				if p.Nominated != "" {
					fmt.Fprintf(&out, "  room is made on %s: %s; %s\n", p.Nominated, strings.Join(p.Victims, " "), p.Because)
				}
			default:
				fmt.Fprintf(&out, "decision: %s, %d of %d feasible", p.Node, p.Feasible, p.Evaluated)
				if p.Like != "" {
					out.WriteString(", as " + p.Like + " before it: next best of that cycle")
				} else if p.Skipped {
					out.WriteString(", the only one: not scored")
				}
				for _, d := range p.Devices {
					fmt.Fprintf(&out, "; %s %s: %s/%s", d.Claim, d.Request, d.Pool, d.Device)
					if d.Before {
						out.WriteString(" (already)")
					}
				}
				if len(p.TiedWith) > 0 {
					slices.Sort(p.TiedWith)
					fmt.Fprintf(&out, ", drawn from it and %s", strings.Join(p.TiedWith, " "))
				}
				out.WriteString("\n")
			}
		}
	}
	out.WriteString(e.extra)
	e.extra = ""
	return out.String()
}

func victims(list []trace.Victim) string {
	told := make([]string, 0, len(list))
	for _, v := range list {
		who := fmt.Sprintf("%s (priority %d)", v.Pod, v.Priority)
		if v.Budget != "" {
			who = fmt.Sprintf("%s (priority %d, against the budget %s)", v.Pod, v.Priority, v.Budget)
		}
		told = append(told, who)
	}
	return strings.Join(told, ", ")
}

func or(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}

// columns lines up a table.
func columns(rows [][]string) string {
	var widths []int
	for _, r := range rows {
		for i, c := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len(c))
		}
	}
	var out strings.Builder
	for _, r := range rows {
		line := ""
		for i, c := range r {
			line += fmt.Sprintf("%-*s  ", widths[i], c)
		}
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return out.String()
}
