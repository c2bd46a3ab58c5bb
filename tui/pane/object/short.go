package object

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/podmark"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// short is an object's state in a few words, for its row in the graph.
func (t *tree) short(o *view.Object) (string, grid.Style) {
	ratio := func(have, want int32) (string, grid.Style) {
		st := theme.Good
		if have != want {
			st = theme.Warn
		}
		return fmt.Sprintf("%d/%d ready", have, want), st
	}
	switch v := o.Value.(type) {
	case *corev1.Pod:
		m := podmark.Of(v)
		return string(m.Glyph) + " " + m.Word, m.Style
	case *corev1.PersistentVolumeClaim:
		if v.Status.Phase == corev1.ClaimBound {
			return "✓ Bound", theme.Good
		}
		return "○ Pending", theme.Warn
	case *appsv1.Deployment:
		return ratio(v.Status.ReadyReplicas, want(v.Spec.Replicas))
	case *appsv1.ReplicaSet:
		if up := t.f.S.Owner(o); up != nil && up.Ref.Kind == "Deployment" {
			return "", 0 // its standing in the rollout says more
		}
		return ratio(v.Status.ReadyReplicas, want(v.Spec.Replicas))
	case *appsv1.StatefulSet:
		text, st := ratio(v.Status.ReadyReplicas, want(v.Spec.Replicas))
		return text + updated(int(v.Status.UpdatedReplicas), int(want(v.Spec.Replicas)), v.Status.CurrentRevision != v.Status.UpdateRevision), st
	case *appsv1.DaemonSet:
		text, st := ratio(v.Status.NumberReady, v.Status.DesiredNumberScheduled)
		text = strings.TrimSuffix(text, " ready") + " nodes ready"
		return text + updated(int(v.Status.UpdatedNumberScheduled), int(v.Status.DesiredNumberScheduled), v.Status.UpdatedNumberScheduled < v.Status.DesiredNumberScheduled), st
	case *batchv1.Job:
		return shortJob(t.f.S.JobRun(o))
	case *batchv1.CronJob:
		c := t.f.S.Schedule(o, 1)
		switch {
		case c.Suspended:
			return c.Text + "  suspended", theme.Warn
		case c.Wrong != "":
			return c.Text + "  " + c.Wrong, theme.Bad
		}
		return fmt.Sprintf("%s  next in %s", c.Text, words.Dur(c.Next[0].Sub(t.f.S.Now()))), theme.Muted
	}
	return "", 0
}

func updated(n, of int, rolls bool) string {
	if !rolls {
		return ""
	}
	return fmt.Sprintf(", %d/%d new", n, of)
}

func shortJob(r *view.JobRun) (string, grid.Style) {
	text := fmt.Sprintf("%d done, %d active, %d failed", r.Succeeded, r.Active, r.Failed)
	if r.Completions >= 0 {
		text = fmt.Sprintf("%d/%d done, %d active, %d failed", r.Succeeded, r.Completions, r.Active, r.Failed)
	}
	switch {
	case r.Over == string(batchv1.JobComplete):
		return "✓ " + text, theme.Muted
	case r.Over != "":
		return "✗ " + text, theme.Bad
	case r.Suspended:
		return "○ suspended, " + text, theme.Warn
	}
	return "◐ " + text, theme.Busy
}
