package object

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// The owner graph: the owners above an object and what it owns below. What there is a lot of is folded: those that are on
// their way are drawn, the others are one row with their counts, which enter unfolds a piece at a time. So it costs as much as
// it draws, however much an object owns.

const (
	deepest   = 6   // owners above one another
	unfolded  = 40  // rows that enter adds
	mostTwigs = 400 // rows of one fold
)

// twig is one row of the graph and what hangs below it.
type twig struct {
	on    pane.Subject
	spans []grid.Span
	kids  []twig
}

// tree makes the graph of one object.
type tree struct {
	p    *Object
	f    *pane.Frame
	self *view.Object
	way  map[*view.Object]bool // from the top to self
	room int                   // rows of one kind below one owner, before they are folded

	rollouts map[*view.Object]*view.Rollout
}

// rollout is that of an owner, made once.
func (t *tree) rollout(o *view.Object) *view.Rollout {
	r, ok := t.rollouts[o]
	if !ok {
		r = t.f.S.Rollout(o)
		t.rollouts[o] = r
	}
	return r
}

// drawTree draws the owners above and what is owned below the object.
func (p *Object) drawTree(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) int {
	t := &tree{p: p, f: f, self: o, way: map[*view.Object]bool{o: true}, room: 6, rollouts: map[*view.Object]*view.Rollout{}}
	if f.Rows >= 30 {
		t.room = 10
	}
	if f.Rows >= 45 {
		t.room = 16
	}
	top := o
	for range deepest {
		up := f.S.Owner(top)
		if up == nil {
			break
		}
		top = up
		t.way[up] = true
	}
	root := t.of(top, nil)
	if top == o && len(root.kids) == 0 {
		return y
	}
	y = s.Heading(y, "owners", "")
	return root.draw(s, y, "", "")
}

func (w twig) draw(s *pane.Sheet, y int, lead, below string) int {
	s.Line(y, w.on, append([]grid.Span{{Text: lead, Style: theme.Line}}, w.spans...)...)
	y++
	for i, k := range w.kids {
		l, b := "├─ ", "│  "
		if i == len(w.kids)-1 {
			l, b = "└─ ", "   "
		}
		y = k.draw(s, y, below+l, below+b)
	}
	return y
}

// of is the row of an object, with words before its kind.
func (t *tree) of(o *view.Object, before []grid.Span, after ...grid.Span) twig {
	st := theme.Text
	if t.f.Fresh(o.Changed) {
		st |= grid.Fresh
	}
	name := grid.Span{Text: o.Name(), Style: st}
	if o == t.self {
		name.Style |= grid.Bold
	}
	spans := append(slices.Clone(before), grid.Span{Text: o.Ref.Kind + " ", Style: theme.Muted}, name)
	if o == t.self {
		spans = append(spans, grid.Span{Text: " ◂", Style: theme.Accent})
	}
	if text, st := t.short(o); text != "" {
		spans = append(spans, grid.Span{Text: "  " + text, Style: st})
	}
	spans = append(spans, after...)
	if o.Deleting() {
		mark := "  † deleting"
		if o.Resource == "pods" { // whose word says it already
			mark = " †"
		}
		spans = append(spans, grid.Span{Text: mark, Style: theme.Warn | grid.Bold})
		for _, name := range o.Finalizers() {
			spans = append(spans, grid.Span{Text: " ⚑ " + name, Style: theme.Warn})
		}
	}
	w := twig{
		on:    pane.Subject{ID: "tree/" + o.Ref.String(), Ref: o.Ref, Event: o.Changed, Pod: podKey(o), Target: targetOf(o), Words: o.Ref.String() + ", revision " + fmt.Sprint(o.Revision) + "."},
		spans: spans,
	}
	if t.way[o] || t.below(o) {
		w.kids = t.kids(o)
	}
	return w
}

// below reports whether an object is owned by the one shown, through whatever lies between.
func (t *tree) below(o *view.Object) bool {
	for range deepest {
		if o = t.f.S.Owner(o); o == nil {
			return false
		}
		if o == t.self {
			return true
		}
	}
	return false
}

// first are the resources that are drawn first below an owner.
var first = []string{"replicasets", "jobs", "pods", "persistentvolumeclaims", "controllerrevisions"}

func (t *tree) kids(o *view.Object) (list []twig) {
	families := t.f.S.Families(o.UID)
	slices.SortStableFunc(families, func(a, b *view.Family) int { return place(a.Resource) - place(b.Resource) })
	if v, ok := o.Value.(*appsv1.StatefulSet); ok {
		list = append(list, t.slots(o, v)...)
		families = slices.DeleteFunc(families, func(f *view.Family) bool {
			return f.Resource == "pods" || f.Resource == "persistentvolumeclaims"
		})
	}
	for _, fam := range families {
		switch {
		case o.Ref.Kind == "Deployment" && fam.Resource == "replicasets":
			list = append(list, t.sets(o, fam)...)
		case fam.Resource == "controllerrevisions":
			list = append(list, t.revisions(o, fam)...)
		default:
			list = append(list, t.members(o, fam)...)
			if fam.Resource == "pods" {
				list = append(list, t.nodeless(o)...)
			}
		}
	}
	if t.f.S.Family(o.UID, "pods").Total == 0 {
		list = append(list, t.nodeless(o)...)
	}
	return list
}

func place(resource string) int {
	if i := slices.Index(first, resource); i >= 0 {
		return i
	}
	return len(first)
}

// sets are the ReplicaSets of a Deployment, the newest first; those that are kept for undo are folded.
func (t *tree) sets(o *view.Object, fam *view.Family) (list []twig) {
	r := t.rollout(o)
	for _, rev := range r.Revisions {
		if c := t.f.S.ObjectOf(rev.Ref); c != nil {
			list = append(list, t.of(c, nil, standing(rev)...))
		}
	}
	if r.Older == 0 {
		return list
	}
	shown := map[string]bool{}
	for _, rev := range r.Revisions {
		shown[rev.Ref.Name] = true
	}
	id := foldOf(o, fam.Resource)
	var older []twig
	for _, c := range t.f.S.ChildrenOf(o.UID, fam.Resource, mostTwigs) {
		if !shown[c.Name()] && (t.way[c] || t.p.open[id] > 0) {
			older = append(older, t.of(c, nil, grid.Span{Text: "  revision " + c.Meta().GetAnnotations()[revisionAnnotation], Style: theme.Muted}))
		}
	}
	list = append(list, older...)
	return append(list, t.fold(id, fmt.Sprintf("%s at 0, kept for undo", words.Count(r.Older, "older ReplicaSet")), r.Older, len(older), nil))
}

// revisionAnnotation numbers a Deployment's ReplicaSets (deploymentutil.RevisionAnnotation).
const revisionAnnotation = "deployment.kubernetes.io/revision"

// standing is what a ReplicaSet is in its Deployment's rollout, with its numbers.
func standing(rev view.Revision) []grid.Span {
	which, look := "old", theme.Muted
	if rev.Current {
		which, look = "new", theme.Accent
	}
	if rev.Number > 0 {
		which += fmt.Sprintf(", revision %d", rev.Number)
	}
	st, text := theme.Good, fmt.Sprintf("  %d/%d ready", rev.Ready, rev.Desired)
	if rev.Desired != rev.Ready || rev.Total != rev.Desired {
		st = theme.Warn
	}
	if rev.Total != rev.Desired {
		text += fmt.Sprintf(", has %d", rev.Total)
	}
	return []grid.Span{{Text: text, Style: st}, {Text: "  " + which, Style: look}}
}

// revisions are the templates of a StatefulSet or DaemonSet, the newest first.
func (t *tree) revisions(o *view.Object, fam *view.Family) (list []twig) {
	all := t.f.S.ChildrenOf(o.UID, fam.Resource, mostTwigs)
	number := func(c *view.Object) int64 {
		if v, ok := c.Value.(*appsv1.ControllerRevision); ok {
			return v.Revision
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b *view.Object) int { return int(number(b) - number(a)) })
	id := foldOf(o, fam.Resource)
	for i, c := range all {
		if i >= 2 && !t.way[c] && t.p.open[id] == 0 {
			continue
		}
		which := grid.Span{Text: "", Style: theme.Muted}
		if i == 0 {
			which = grid.Span{Text: " new", Style: theme.Accent}
		}
		list = append(list, t.of(c, nil, grid.Span{Text: fmt.Sprintf("  revision %d", number(c)), Style: theme.Muted}, which))
	}
	if n := len(all) - 2; n > 0 {
		list = append(list, t.fold(id, words.Count(n, "older ControllerRevision"), n, len(list)-2, nil))
	}
	return list
}

// members are the objects of a resource that an owner has: all of few, of many those that are on their way.
func (t *tree) members(o *view.Object, fam *view.Family) (list []twig) {
	id := foldOf(o, fam.Resource)
	room := t.room + t.p.open[id]
	var all []*view.Object
	if fam.Total <= room {
		all = t.f.S.ChildrenOf(o.UID, fam.Resource, room)
	} else {
		all = t.chosen(o, fam, room-1)
	}
	t.order(o, fam.Resource, all)
	node := 0
	for _, c := range all {
		node = max(node, len(nodeOf(c)))
	}
	for _, c := range all {
		var before []grid.Span
		if o.Ref.Kind == "DaemonSet" && fam.Resource == "pods" {
			before = []grid.Span{{Text: grid.Pad(nodeOf(c), node) + " ", Style: theme.Name}}
		}
		list = append(list, t.of(c, before, t.role(o, c)...))
	}
	if fam.Total > len(all) || t.p.open[id] > 0 {
		list = append(list, t.fold(id, "", fam.Total, len(all), fam))
	}
	return list
}

// chosen are at most n of many: the one on the way to the object shown, those on their way, then the first by name.
func (t *tree) chosen(o *view.Object, fam *view.Family, n int) (all []*view.Object) {
	has := map[*view.Object]bool{}
	add := func(list []*view.Object, only func(*view.Object) bool) {
		for _, c := range list {
			if len(all) < n && !has[c] && only(c) {
				all, has[c] = append(all, c), true
			}
		}
	}
	any := func(*view.Object) bool { return true }
	for c := range t.way {
		if up := t.f.S.Owner(c); up == o && c.Resource == fam.Resource {
			add([]*view.Object{c}, any)
		}
	}
	add(t.f.S.Unsettled(o.UID, fam.Resource, n), any)
	if o.Ref.Kind != "Job" || t.p.open[foldOf(o, fam.Resource)] > 0 { // of a Job its indexes say what is over
		add(t.f.S.ChildrenOf(o.UID, fam.Resource, n), any)
	}
	return all
}

// order sorts what an owner has: the pods of a DaemonSet by node, those of an indexed Job by index, Jobs the newest first.
func (t *tree) order(o *view.Object, resource string, all []*view.Object) {
	slices.SortStableFunc(all, func(a, b *view.Object) int {
		switch {
		case resource == "jobs":
			return b.Created.Compare(a.Created)
		case o.Ref.Kind == "DaemonSet":
			return strings.Compare(nodeOf(a), nodeOf(b))
		case o.Ref.Kind == "Job":
			if x, y := indexOf(a), indexOf(b); x != y {
				return x - y
			}
			return a.Created.Compare(b.Created)
		}
		return strings.Compare(a.Ref.Key(), b.Ref.Key())
	})
}

// role is what a pod is to its owner beside what it is itself: of which template, which index, which try.
func (t *tree) role(o, c *view.Object) []grid.Span {
	m := c.Meta()
	if m == nil || c.Resource != "pods" {
		return nil
	}
	switch o.Ref.Kind {
	case "DaemonSet":
		r := t.rollout(o)
		if len(r.Revisions) < 2 || r.Updated == r.Total {
			return nil
		}
		return template(strings.HasSuffix(r.Revisions[0].Ref.Name, "-"+m.GetLabels()[appsv1.ControllerRevisionHashLabelKey]))
	case "Job":
		if n := m.GetAnnotations()["batch.kubernetes.io/job-index-failure-count"]; n != "" && n != "0" {
			return []grid.Span{{Text: "  failed " + n + "× before", Style: theme.Warn}}
		}
	}
	return nil
}

func template(newest bool) []grid.Span {
	if newest {
		return []grid.Span{{Text: "  new", Style: theme.Accent}}
	}
	return []grid.Span{{Text: "  old", Style: theme.Muted}}
}

// nodeOf is the node a pod is on, or of a DaemonSet's pod is for.
func nodeOf(o *view.Object) string {
	if pod, ok := o.Value.(*corev1.Pod); ok {
		return view.TargetOf(pod)
	}
	return ""
}

// nodeless are the nodes on which a DaemonSet has no pod, and why.
func (t *tree) nodeless(o *view.Object) (list []twig) {
	if o.Ref.Kind != "DaemonSet" {
		return nil
	}
	for _, n := range t.f.S.Nodeless(o, 4*t.room) {
		if len(list) == t.room {
			break
		}
		why, st := n.Why, theme.Muted
		if why == "" {
			why, st = "no pod yet", theme.Warn
		} else {
			why = "gets none: " + why
		}
		list = append(list, twig{
			on:    pane.Subject{ID: "tree/" + n.Node.Ref.String(), Ref: n.Node.Ref, Event: n.Node.Changed, Target: targetOf(n.Node), Words: fmt.Sprintf("%s has no pod of %s: %s.", n.Node.Ref, o.Ref, why)},
			spans: []grid.Span{{Text: n.Node.Name() + " ", Style: theme.Name}, {Text: why, Style: st}},
		})
	}
	return list
}

func indexOf(o *view.Object) int {
	if m := o.Meta(); m != nil {
		var n int
		if _, err := fmt.Sscan(m.GetAnnotations()[batchv1.JobCompletionIndexAnnotation], &n); err == nil {
			return n
		}
	}
	return -1
}

// slots are the ordinals of a StatefulSet in order, with their claims.
func (t *tree) slots(o *view.Object, v *appsv1.StatefulSet) (list []twig) {
	from, end := view.Ordinals(v)
	id := foldOf(o, "pods")
	room := t.room + t.p.open[id]
	show := t.f.S.Worth(o, room)
	for c := range t.way {
		if i := view.OrdinalOf(c.Name()); c.Resource == "pods" && i >= from && i < end && !slices.Contains(show, i) {
			show = append(show, i)
			slices.Sort(show)
		}
	}
	wide := len(fmt.Sprint(max(end-1, 0)))
	next := from
	for _, i := range show {
		if i > next {
			list = append(list, t.gap(o, id, next, i-1))
		}
		list = append(list, t.slot(o, v, t.f.S.SlotOf(o, i), wide))
		next = i + 1
	}
	for _, c := range t.f.S.Unsettled(o.UID, "pods", t.room) { // on their way out above the last ordinal
		if i := view.OrdinalOf(c.Name()); i < from || i >= end {
			list = append(list, t.of(c, []grid.Span{{Text: grid.PadLeft(fmt.Sprint(i), wide) + " ", Style: theme.Muted}}, grid.Span{Text: "  not wanted any more", Style: theme.Muted}))
		}
	}
	if t.p.open[id] > 0 {
		list = append(list, t.fold(id, "", end-from, len(show), nil))
	}
	return list
}

func (t *tree) gap(o *view.Object, id string, from, to int) twig {
	text := fmt.Sprintf("%d–%d: %s", from, to, words.Count(to-from+1, "slot"))
	if from == to {
		text = fmt.Sprintf("%d: one slot", from)
	}
	return twig{
		on:    pane.Subject{ID: fmt.Sprintf("%s/%d", id, from), Copy: text, Words: text + " of " + o.Ref.String() + ": enter unfolds them."},
		spans: []grid.Span{{Text: "⋮ " + text, Style: theme.Muted}},
	}
}

func (t *tree) slot(o *view.Object, v *appsv1.StatefulSet, slot view.Slot, wide int) twig {
	before := []grid.Span{{Text: grid.PadLeft(fmt.Sprint(slot.Ordinal), wide) + " ", Style: theme.Number}}
	var after []grid.Span
	if slot.Pod != nil && v.Status.CurrentRevision != v.Status.UpdateRevision || slot.Pod != nil && !slot.New {
		after = template(slot.New)
		if slot.Kept && !slot.New {
			after = append(after, grid.Span{Text: ", kept by the partition", Style: theme.Muted})
		}
	}
	for _, c := range slot.Claims {
		mark, st := " ✓ Bound", theme.Good
		switch {
		case c.Claim == nil:
			mark, st = " – none", theme.Muted
		case !c.Bound:
			mark, st = " ○ Pending", theme.Warn
		}
		template := strings.TrimSuffix(c.Name, "-"+slot.Name)
		after = append(after, grid.Span{Text: "  " + template, Style: theme.Muted}, grid.Span{Text: mark, Style: st})
	}
	var w twig
	if slot.Pod != nil {
		w = t.of(slot.Pod, before, after...)
	} else {
		says := "  not there"
		if slot.Waits != "" {
			says = "  waits for " + slot.Waits
		}
		w = twig{
			on:    pane.Subject{ID: "slot/" + slot.Name, Copy: slot.Name, Words: fmt.Sprintf("Pod %s of %s is not there.", slot.Name, o.Ref)},
			spans: append(before, append([]grid.Span{{Text: "Pod ", Style: theme.Muted}, {Text: slot.Name, Style: theme.Muted}, {Text: says, Style: theme.Warn}}, after...)...),
		}
	}
	return w
}

// fold is the row of what is not drawn. Enter draws more of it, or folds it again.
func (t *tree) fold(id, text string, all, shown int, fam *view.Family) twig {
	var spans []grid.Span
	rest := all - shown
	switch {
	case rest <= 0 || shown >= mostTwigs:
		spans = []grid.Span{{Text: "▴ fold again", Style: theme.Accent}}
	case text != "":
		spans = []grid.Span{{Text: "… " + text, Style: theme.Muted}}
	default:
		spans = []grid.Span{{Text: fmt.Sprintf("… %d more", rest), Style: theme.Muted}}
	}
	if fam != nil {
		spans = append(spans, grid.Span{Text: fmt.Sprintf("  of %d:", all), Style: theme.Muted})
		spans = append(spans, counted(fam)...)
	}
	on := pane.Subject{ID: id, Words: fmt.Sprintf("%d of %d are not drawn: enter unfolds some more.", max(rest, 0), all)}
	return twig{on: on, spans: spans}
}

// counted is how many of a family are in each stage.
func counted(fam *view.Family) (spans []grid.Span) {
	for _, in := range view.Stages() {
		if n := fam.In(in); n > 0 && in != view.There {
			mark, st := stageMark(in)
			spans = append(spans, grid.Span{Text: fmt.Sprintf(" %s %d %s", mark, n, in), Style: st})
		}
	}
	return spans
}

func stageMark(in view.Stage) (string, grid.Style) {
	switch in {
	case view.Ready:
		return "●", theme.Good
	case view.Running, view.Starting:
		return "◐", theme.Busy
	case view.Unready:
		return "◑", theme.Warn
	case view.Waiting, view.Suspended:
		return "○", theme.Warn
	case view.Terminating:
		return "◌", theme.Warn
	case view.Failed:
		return "✗", theme.Bad
	case view.Succeeded:
		return "✓", theme.Muted
	}
	return "·", theme.Muted
}

func foldOf(o *view.Object, resource string) string { return "fold/" + o.UID + "/" + resource }

// unfold draws more below a fold, or folds it again.
func (p *Object) unfold(f *pane.Frame, id string) {
	parts := strings.Split(strings.TrimPrefix(id, "fold/"), "/")
	if len(parts) < 2 {
		return
	}
	key := "fold/" + parts[0] + "/" + parts[1]
	all := f.S.Family(parts[0], parts[1]).Total
	if o := f.S.ObjectByUID(parts[0]); o != nil && parts[1] == "pods" {
		if v, ok := o.Value.(*appsv1.StatefulSet); ok {
			from, end := view.Ordinals(v)
			all = end - from
		}
	}
	if p.open[key] >= min(all, mostTwigs) {
		delete(p.open, key)
		return
	}
	p.open[key] = min(p.open[key]+unfolded, mostTwigs)
}
