package clustermap

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/podmark"
	"kviz/tui/theme"
)

// drawRest fills the rows that are left: workloads and Services beside each
// other (or below), then the newest Kubernetes Events.
func (m *Map) drawRest(s *pane.Sheet, f *pane.Frame, y int) {
	beside := s.W() >= 76
	narrow := beside && s.W() < 100
	work, services := m.workloads(f, narrow), m.services(f, narrow)
	if room := f.Rows - y; room >= 4 {
		if beside {
			left := s.W() / 2
			if narrow { // addresses are longer than the names of workloads
				left -= 4
			}
			a, b := s.Halves(left)
			drawList(a, y, room, "workloads", "ready of wanted", work, "None yet: kubectl apply -f manifests/hello.yaml makes one.")
			drawList(b, y, room, "Services", "ready endpoints", services, "None yet.")
			y = s.Divide(y, left, a, b)
		} else {
			y = drawList(s, y, room, "workloads", "ready of wanted", work, "None yet: kubectl apply -f manifests/hello.yaml makes one.")
			if f.Rows-y >= 3 {
				y = drawList(s, y, f.Rows-y, "Services", "ready endpoints", services, "None yet.")
			}
		}
	}
	if list := m.volumes(f, s.W()); len(list) > 0 && f.Rows-y >= 3 {
		y = drawList(s, y, min(f.Rows-y, mostVolumes), "volumes", "claim, size, state, pods", list, "")
	}
	if room := f.Rows - y; room >= 3 {
		s.KubeEvents(y, room, f, func(view.KubeEvent) bool { return true })
	}
}

// mostVolumes is how many rows volumes have in the lists.
const mostVolumes = 8

// volumes are the claims and volumes, those first that somebody has to look at.
func (m *Map) volumes(f *pane.Frame, w int) (out []entry) {
	p := &picture{f: f, pods: m.population(f)}
	all := slices.Clone(p.pods.volumes(f))
	slices.SortStableFunc(all, func(a, b *view.VolumeStanding) int {
		return slices.Index(worstFirst, a.State) - slices.Index(worstFirst, b.State)
	})
	for _, v := range all {
		row := p.volumeRow(v, min(w, 48))
		if len(v.Nodes) > 0 {
			row = append(row, span("  "+strings.Join(v.Nodes, ", "), theme.Name))
		}
		if v.Why != "" {
			row = append(row, span("  "+v.Why, theme.Muted))
		}
		out = append(out, entry{volumeSubject(v), row})
	}
	return out
}

// entry is a row of a list and what the cursor finds there.
type entry struct {
	on    pane.Subject
	spans []grid.Span
}

// drawList draws a heading and as many rows as there is room for; the last row
// says how many are left out.
func drawList(s *pane.Sheet, y, room int, name, note string, list []entry, none string) int {
	y = s.Heading(y, name, note)
	room--
	if len(list) == 0 {
		return s.Say(y, none, theme.Muted)
	}
	for i, e := range list {
		if i == room-1 && i < len(list)-1 {
			s.Row(y).Text(0, 0, fmt.Sprintf("… %d more", len(list)-i), theme.Muted)
			return y + 1
		}
		s.Line(y, e.on, e.spans...)
		y++
	}
	return y
}

func (m *Map) workloads(f *pane.Frame, narrow bool) []entry {
	var list []*view.Object
	for _, kind := range []string{"deployments", "replicasets", "statefulsets", "daemonsets", "jobs", "cronjobs"} {
		list = append(list, slices.DeleteFunc(m.wanted(f, kind), func(o *view.Object) bool { return f.S.Owner(o) != nil })...)
	}
	sort.SliceStable(list, func(i, j int) bool { return !system(list[i]) && system(list[j]) })
	out, wide := make([]entry, 0, len(list)), widest(list, func(o *view.Object) string { return kind(o, narrow) + " " + o.Ref.Key() })
	claims := m.population(f).claims()
	for i, o := range list {
		if i > f.Rows { // it is counted, not drawn
			out = append(out, entry{})
			continue
		}
		have, want := replicas(o)
		st := theme.Good
		if have != want {
			st = theme.Warn
		}
		name := theme.Name
		if f.Fresh(o.Changed) {
			name |= grid.Fresh
		}
		letter := podmark.Letter(o.Namespace(), o.Name())
		stands, told := dots(have, want, st, narrow), fmt.Sprintf("%d of %d pods ready", have, want)
		switch o.Ref.Kind {
		case "Job":
			text, st := jobSays(f.S.JobRun(o))
			stands, told = []grid.Span{{Text: text, Style: st}}, text+" succeeded"
		case "CronJob":
			text, st := nextRun(f.S, o)
			stands, told = []grid.Span{{Text: text, Style: st}}, "runs "+text
		}
		beside, meant := companions(f.S, o, claims[key(o.Ref)])
		for _, text := range beside {
			stands = append(stands, grid.Span{Text: "  " + text, Style: theme.Accent})
		}
		told = strings.Join(append([]string{told}, meant...), ", ")
		out = append(out, entry{
			pane.Subject{
				ID: "work/" + o.Ref.String(), Ref: o.Ref, Event: o.Changed, Copy: o.Ref.Key(),
				Words: fmt.Sprintf("%s: %s, written last at revision %d.", o.Ref, told, o.Revision),
			},
			append([]grid.Span{
				{Text: string(letter) + " ", Style: theme.Text | grid.Bold},
				{Text: kind(o, narrow) + " ", Style: theme.Muted},
				{Text: grid.Pad(o.Ref.Key(), wide-grid.Width(kind(o, narrow))), Style: name},
			}, stands...),
		})
	}
	return out
}

// scaler is what scales a workload: "hpa 2–5", with its name where that is another than the workload's, and the same in
// words; "" where nothing does.
func scaler(s *view.State, o *view.Object) (text, says string) {
	for _, by := range s.Scalers(o) {
		hpa, ok := by.Value.(*autoscalingv2.HorizontalPodAutoscaler)
		if !ok {
			continue
		}
		least := int32(1)
		if hpa.Spec.MinReplicas != nil {
			least = *hpa.Spec.MinReplicas
		}
		name := by.Name() + " "
		if by.Name() == o.Name() {
			name = ""
		}
		return fmt.Sprintf("hpa %s%d–%d", name, least, hpa.Spec.MaxReplicas), fmt.Sprintf("%s scales it from %d to %d replicas", by.Ref, least, hpa.Spec.MaxReplicas)
	}
	return "", ""
}

// kind is the kind of a workload, where it is narrow by the short name that
// kubectl takes.
func kind(o *view.Object, narrow bool) string {
	if short, ok := map[string]string{"Deployment": "deploy", "StatefulSet": "sts", "DaemonSet": "ds", "ReplicaSet": "rs", "CronJob": "cj"}[o.Ref.Kind]; ok && narrow {
		return short
	}
	return o.Ref.Kind
}

// widest is the width of the longest name, but no more than forty.
func widest(list []*view.Object, name func(*view.Object) string) int {
	w := 0
	for _, o := range list {
		w = max(w, grid.Width(name(o)))
	}
	return min(w, 40)
}

// dots are "●●○ 2/3": what is there of what is wanted; only the numbers where
// it is narrow.
func dots(have, want int, st grid.Style, narrow bool) []grid.Span {
	row := ""
	if !narrow && want <= 12 && have <= 12 {
		row = strings.Repeat("●", have) + strings.Repeat("○", max(want-have, 0)) + " "
	}
	return []grid.Span{{Text: fmt.Sprintf("%s%d/%d", row, have, want), Style: st}}
}

// wanted are the objects of a kind that the filter and the namespace let
// through.
func (m *Map) wanted(f *pane.Frame, kind string) []*view.Object {
	var out []*view.Object
	f.S.EachObject(kind, m.namespace, func(o *view.Object) bool {
		if f.Match(o.Name(), o.Namespace()) {
			out = append(out, o)
		}
		return true
	})
	return out
}

func system(o *view.Object) bool { return o.Namespace() == "kube-system" }

func replicas(o *view.Object) (have, want int) {
	of := func(n *int32) int {
		if n == nil {
			return 1
		}
		return int(*n)
	}
	switch v := o.Value.(type) {
	case *appsv1.Deployment:
		return int(v.Status.ReadyReplicas), of(v.Spec.Replicas)
	case *appsv1.ReplicaSet:
		return int(v.Status.ReadyReplicas), of(v.Spec.Replicas)
	case *appsv1.StatefulSet:
		return int(v.Status.ReadyReplicas), of(v.Spec.Replicas)
	case *appsv1.DaemonSet:
		return int(v.Status.NumberReady), int(v.Status.DesiredNumberScheduled)
	case *batchv1.Job:
		return int(v.Status.Succeeded), of(v.Spec.Completions)
	}
	return 0, 0
}

func (m *Map) services(f *pane.Frame, narrow bool) []entry {
	list := m.wanted(f, "services")
	out, wide := make([]entry, 0, len(list)), widest(list, func(o *view.Object) string { return o.Ref.Key() })
	for _, o := range list {
		svc, ok := o.Value.(*corev1.Service)
		if !ok {
			continue
		}
		ready, all := podmark.Endpoints(f.S, o)
		st := theme.Good
		if ready == 0 || ready < all {
			st = theme.Warn
		}
		name := theme.Name
		if f.Fresh(o.Changed) {
			name |= grid.Fresh
		}
		address, arrow := svc.Spec.ClusterIP, " → "
		if narrow {
			arrow = " "
		}
		for i, p := range svc.Spec.Ports {
			address += []string{":", ","}[min(i, 1)] + fmt.Sprint(p.Port)
		}
		out = append(out, entry{
			pane.Subject{
				ID: "svc/" + o.Ref.Key(), Ref: o.Ref, Event: o.Changed, Copy: svc.Spec.ClusterIP,
				Words: fmt.Sprintf("Service %s at %s: %d of %d endpoints ready. Its address exists only in the rules of the nodes.", o.Ref.Key(), address, ready, all),
			},
			append([]grid.Span{{Text: grid.Pad(o.Ref.Key(), wide+1), Style: name}, {Text: address + arrow, Style: theme.Number}}, dots(ready, all, st, narrow)...),
		})
	}
	return out
}
