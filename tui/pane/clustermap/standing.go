package clustermap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/podmark"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// stander is a workload in the row below the picture: its letter, what it is called, and how many of its pods are fine. How it
// stands in the way of its kind is found out when there is room for it.
type stander struct {
	letter     rune
	name       string
	of         trace.Ref
	fine, want int
	claims     map[string]int // that its pods use
}

// mostStanders bounds how many workloads of a kind are looked at that have no pods.
const mostStanders = 64

// prefixes are the short names of kubectl for the kinds that are named in the row; a name without one is a
// Deployment's, a ReplicaSet's or a pod's.
var prefixes = map[string]string{"StatefulSet": "sts/", "DaemonSet": "ds/", "Job": "job/", "CronJob": "cj/"}

// standers are the workloads of the row: those that have pods, and those of people that have none now.
func (c *population) standers(f *pane.Frame) (all []stander) {
	seen := map[trace.Ref]bool{}
	for o, t := range c.owners {
		seen[key(o.of)] = true
		all = append(all, stander{o.letter, prefixes[o.of.Kind] + o.owner, o.of, t.fine, t.all, t.claims})
	}
	for _, kind := range []string{"cronjobs", "statefulsets", "daemonsets", "jobs", "deployments"} {
		looked := 0
		f.S.EachObject(kind, c.namespace, func(o *view.Object) bool {
			if looked++; !seen[key(o.Ref)] && f.S.Owner(o) == nil && !system(o) && f.Match(o.Name(), o.Namespace()) {
				have, want := replicas(o)
				all = append(all, stander{podmark.Letter(o.Namespace(), o.Name()), prefixes[o.Ref.Kind] + o.Name(), o.Ref, have, want, nil})
			}
			return looked < mostStanders
		})
	}
	slices.SortFunc(all, func(a, b stander) int {
		return cmp.Or(cmp.Compare(later(a.letter), later(b.letter)), cmp.Compare(a.letter, b.letter), strings.Compare(a.name, b.name), strings.Compare(a.of.Key(), b.of.Key()))
	})
	return all
}

// says is how a workload stands, as its kind says it: a Job by what has succeeded, a CronJob by its next run.
func (w stander) says(s *view.State) (string, grid.Style) {
	if o := s.ObjectOf(w.of); o != nil {
		switch o.Value.(type) {
		case *batchv1.Job:
			return jobSays(s.JobRun(o))
		case *batchv1.CronJob:
			return nextRun(s, o)
		}
	}
	st := theme.Good
	if w.fine < w.want {
		st = theme.Warn
	}
	return fmt.Sprintf("%d/%d", w.fine, w.want), st
}

// key is a ref by which an object is found again, whatever else it says.
func key(r trace.Ref) trace.Ref { return trace.Ref{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name} }

// later has workloads of people first.
func later(letter rune) int {
	if letter >= 'a' {
		return 1
	}
	return 0
}

// jobSays is "7/12 ✗1": what has succeeded, and what has failed.
func jobSays(r *view.JobRun) (string, grid.Style) {
	text, st := fmt.Sprintf("%d/%d", r.Succeeded, r.Completions), theme.Busy
	if r.Completions < 0 {
		text = fmt.Sprint(r.Succeeded)
	}
	failed := r.Failed
	if r.Indexed {
		failed = r.Lost.Count() + r.Again.Count()
	}
	if failed > 0 {
		text, st = fmt.Sprintf("%s ✗%d", text, failed), theme.Warn
	}
	switch {
	case r.Over == string(batchv1.JobComplete):
		st = theme.Good
	case r.Over != "":
		st = theme.Bad
	case r.Suspended:
		text, st = text+" suspended", theme.Warn
	}
	return text, st
}

// nextRun is "in 51s", and how many Jobs run.
func nextRun(s *view.State, o *view.Object) (string, grid.Style) {
	c := s.Schedule(o, 1)
	switch {
	case c.Suspended:
		return "suspended", theme.Warn
	case c.Wrong != "":
		return "never runs", theme.Bad
	}
	text := "in " + words.Dur(c.Next[0].Sub(s.Now()))
	if c.Active > 0 {
		text += fmt.Sprintf(", %d now", c.Active)
	}
	return text, theme.Good
}
