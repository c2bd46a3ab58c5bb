package cluster_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/controller/daemon/util"

	"kviz/cluster"
	"kviz/cluster/controller/pods"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// diary is what becomes of the pods, claims, revisions and Jobs of the namespace default, a line for each
// change that a person would tell of, with the seconds since the last command.
type diary struct {
	storage bool // also the calls of the storage driver, and what is attached
	b       strings.Builder
	since   time.Duration
	seen    map[string]string
}

func (d *diary) note(e *trace.Event) {
	if call, ok := e.Payload.(*trace.StorageCall); ok && d.storage {
		d.say(e, strings.TrimSpace("driver: "+call.Call+" "+call.Node)+map[bool]string{true: ": " + call.Error}[call.Error != ""])
		return
	}
	p, ok := e.Payload.(*trace.Commit)
	if !ok {
		return
	}
	for _, ch := range p.Changes {
		if attached := ch.Object.Kind == "VolumeAttachment" && d.storage; ch.Object.Namespace != "default" && !attached {
			continue
		}
		key := ch.Object.Kind + "/" + ch.Object.Name
		if ch.Deleted {
			if d.seen[key] != "" {
				name, _, _ := strings.Cut(d.seen[key], ": ")
				d.say(e, name+" is gone")
				delete(d.seen, key)
			}
			continue
		}
		if ch.Value == nil {
			continue
		}
		if words := told(ch.Value.Value); words != "" && d.seen[key] != words {
			d.seen[key] = words
			d.say(e, words)
		}
	}
}

func (d *diary) say(e *trace.Event, words string) {
	fmt.Fprintf(&d.b, "%6.1fs  %s\n", (e.At - d.since).Seconds(), words)
}

// told is an object in words: its name, and how it is; "" of one that the diary passes over.
func told(obj any) string {
	switch o := obj.(type) {
	case *corev1.Pod:
		return "pod " + called(o) + ": " + podIs(o)
	case *corev1.PersistentVolumeClaim:
		words := "claim " + o.Name + ": exists"
		for _, r := range o.OwnerReferences {
			words += ", belongs to " + r.Kind + " " + r.Name
		}
		return words
	case *storagev1.VolumeAttachment:
		return "VolumeAttachment to " + o.Spec.NodeName + ": " + attachmentIs(o)
	case *appsv1.ControllerRevision:
		return "ControllerRevision of " + metav1.GetControllerOf(o).Name + fmt.Sprintf(": revision %d", o.Revision)
	case *batchv1.Job:
		return "Job " + o.Name + ": " + jobIs(o)
	case *policyv1.PodDisruptionBudget:
		return fmt.Sprintf("budget %s: %d of %d healthy, %d must be, allows %d", o.Name, o.Status.CurrentHealthy, o.Status.ExpectedPods, o.Status.DesiredHealthy, o.Status.DisruptionsAllowed)
	}
	return ""
}

// called is a pod's name, and where the last part of it is generated, which tells nothing, its node instead.
func called(p *corev1.Pod) string {
	name := strings.TrimSuffix(p.GenerateName, "-")
	if r := metav1.GetControllerOf(p); r != nil && r.Kind == "StatefulSet" {
		return p.Name
	}
	switch node, err := util.GetTargetNodeName(p); {
	case name == "":
		return p.Name
	case p.Annotations[batchv1.JobCompletionIndexAnnotation] != "" || err != nil:
		return name
	default:
		return name + " of " + node
	}
}

func podIs(p *corev1.Pod) string {
	switch {
	case p.DeletionTimestamp != nil:
		return "is being deleted"
	case p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed:
		return string(p.Status.Phase)
	case pods.Ready(p):
		return "Ready"
	case p.Spec.NodeName == "":
		return "exists, without a node"
	}
	for _, s := range p.Status.ContainerStatuses {
		if w := s.State.Waiting; w != nil && strings.HasSuffix(w.Reason, "BackOff") {
			return w.Reason
		}
	}
	return "on " + p.Spec.NodeName
}

func attachmentIs(va *storagev1.VolumeAttachment) string {
	switch {
	case va.DeletionTimestamp != nil:
		return "is being deleted"
	case va.Status.Attached:
		return "attached"
	}
	return "exists"
}

func jobIs(j *batchv1.Job) string {
	words := fmt.Sprintf("%d active, %d succeeded, %d failed", j.Status.Active, j.Status.Succeeded, j.Status.Failed)
	if j.Status.CompletedIndexes != "" {
		words += ", indexes " + j.Status.CompletedIndexes + " are done"
	}
	if f := j.Status.FailedIndexes; f != nil && *f != "" {
		words += ", index " + *f + " has failed for good"
	}
	for _, c := range j.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			words += ", " + string(c.Type)
			if c.Reason != "" {
				words += " (" + c.Reason + ")"
			}
		}
	}
	return words
}

// diaryOf runs the commands of a story and gives it with what they print and what became of the
// workloads then: "# prose", "$ command", "> more of it".
func diaryOf(t *testing.T, c *cluster.Cluster, file string, vary ...varies) string {
	t.Helper()
	return (&diary{}).of(t, c, file, vary...)
}

func (d *diary) of(t *testing.T, c *cluster.Cluster, file string, vary ...varies) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d.seen = map[string]string{}
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "# ") {
			if i > 0 && !strings.HasPrefix(lines[i-1], "# ") {
				d.b.WriteString("\n")
			}
			d.b.WriteString(lines[i] + "\n")
		}
		command, typed := strings.CutPrefix(lines[i], "$ ")
		if !typed {
			continue
		}
		d.b.WriteString(lines[i] + "\n")
		for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "> ") {
			i++
			command += "\n" + lines[i][2:]
			d.b.WriteString(lines[i] + "\n")
		}
		from := mark(t, c)
		out := run(t, c, "set +e\n"+command)
		for _, v := range vary {
			out = v.what.ReplaceAllString(out, v.name)
		}
		happened := after(t, c, from)
		if len(happened) > 0 {
			d.since = happened[0].At
		}
		for _, e := range happened {
			d.note(e)
		}
		for line := range strings.Lines(out) {
			d.b.WriteString("         " + strings.TrimRight(line, " \n") + "\n")
		}
	}
	return strings.TrimLeft(d.b.String(), "\n")
}

// The workloads as a reader learns them: what is typed, and what becomes of pods, claims and Jobs.
func TestStoriesOfWorkloads(t *testing.T) {
	t.Parallel()
	for i, name := range []string{"statefulset", "daemonset", "job", "cronjob", "drain"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steady.Bubble(t, func(t *testing.T) {
				c := boot(t, cluster.Config{Seed: uint64(60 + i), Bare: true})
				golden(t, "story-"+name, diaryOf(t, c, "testdata/story-"+name+".txt",
					varies{regexp.MustCompile(`\blog-[a-z0-9]{5}\b`), "log-xxxxx"}, varies{notFullMinute, "TIME"}))
			})
		})
	}
}

// A volume as a reader learns it: in which order it is made, attached and mounted; who has to wait for it and
// for how long, when its node lives, is dead, or off.
func TestStoryOfVolumes(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 70, Bare: true})
		golden(t, "story-volumes", (&diary{storage: true}).of(t, c, "testdata/story-volumes.txt",
			varies{regexp.MustCompile(`\bpvc-[0-9a-f-]{36}\b`), "pvc-…"}))
	})
}
