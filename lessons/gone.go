package lessons

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"kviz/cluster/expr"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// A goal that speaks of an object which is gone, and which nothing makes again, can no longer be met: that is a mistake,
// though its author did not think of it. What comes again by itself, or by what the beat offers, is no such object.

// subject is an object that a condition speaks of: object("deployments", "demo", name).
type subject struct{ args []*expr.Program }

var spokenOf = regexp.MustCompile(`\bobject\(([^()]*)\)`)

// subjects are the objects that a condition speaks of by names that it knows without an event.
func subjects(src string, names *expr.Scope) (all []subject) {
	for _, call := range spokenOf.FindAllStringSubmatch(src, -1) {
		args := strings.Split(call[1], ",")
		if len(args) < 2 || len(args) > 3 {
			continue
		}
		var s subject
		for _, arg := range args {
			p, err := names.CompileAny(arg)
			if err != nil || p.Mentions("event") {
				break
			}
			s.args = append(s.args, p)
		}
		if len(s.args) == len(args) {
			all = append(all, s)
		}
	}
	return all
}

// in is the object in a state; nil where it is not there.
func (s subject) in(st *view.State, values expr.Values) *view.Object {
	var args []string
	for _, p := range s.args {
		v, err := p.Value(st, st.Event, values)
		if err != nil {
			return nil
		}
		args = append(args, v.Text())
	}
	if len(args) == 2 {
		return st.Object(args[0], "", args[1])
	}
	return st.Object(args[0], args[1], args[2])
}

// grace is how long in the cluster no command has run before an object counts as gone: the next command of the same line
// may make it again.
const grace = 500 * time.Millisecond

// doings are what was deleted in the beat under way, and the commands that run.
type doings struct {
	deleted map[trace.Ref]trace.ID
	run     map[trace.ID]bool
	ended   time.Duration // when the last of them ended
}

func newDoings() doings { return doings{deleted: map[trace.Ref]trace.ID{}, run: map[trace.ID]bool{}} }

// hears takes an event.
func (d *doings) hears(e *trace.Event) {
	switch p := e.Payload.(type) {
	case *trace.Commit:
		for _, c := range p.Changes {
			if c.Deleted && c.Object.Name != "" {
				d.deleted[named(c.Object)] = e.ID
			}
		}
	case *trace.Command:
		if e.Kind == trace.CommandStart {
			d.run[e.ID] = true
			return
		}
		for _, id := range e.Causes {
			delete(d.run, id)
		}
		d.ended = e.At
	}
}

// named is a ref as it is written: whichever object bears the name.
func named(r trace.Ref) trace.Ref {
	return trace.Ref{Kind: view.ResourceOf(r.Kind), Namespace: r.Namespace, Name: r.Name}
}

// loses notes which goals of the beat under way can no longer be met.
func (a *Attempt) loses() {
	step, span := a.Lesson.Steps[a.at], a.span()
	clear(a.lost)
	st := a.b.Live()
	if span == nil || !step.Acts() || len(a.doings.deleted) == 0 || len(a.doings.run) > 0 || st.At < a.doings.ended+grace || a.Lesson.makesAgain(step) {
		return
	}
	for _, g := range step.Goals {
		if g.Optional || g.Never() || a.Met(g) {
			continue
		}
		for _, part := range g.parts() {
			if part.event || part.met(st, st.Event, a.values) { // it is content with what is so
				continue
			}
			for _, s := range part.subjects {
				was := s.in(span.start, a.values)
				if was == nil || s.in(st, a.values) != nil {
					continue
				}
				if at, deleted := a.doings.deleted[named(was.Ref)]; deleted && !comesAgain(was, st) {
					a.lost[g.ID] = nearing{at, fmt.Sprintf("%s is gone, and nothing makes it again. It can no longer be so: %s", spoken(was.Ref), a.fill(step, g.Say)), true}
				}
			}
		}
	}
}

// spoken is an object as a learner speaks of it.
func spoken(r trace.Ref) string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return fmt.Sprintf("%s %s of namespace %s", r.Kind, r.Name, r.Namespace)
}

// comesAgain reports whether something of the cluster makes an object again under the same name: the one that made it,
// or its owner, which gives other names where it made one up.
func comesAgain(o *view.Object, st *view.State) bool {
	m := o.Meta()
	switch {
	case m == nil:
		return true
	case m.GetGenerateName() != "":
		return false
	}
	for _, ref := range m.GetOwnerReferences() {
		if st.ObjectByUID(string(ref.UID)) != nil {
			return true
		}
	}
	for _, by := range m.GetManagedFields() {
		if strings.HasPrefix(by.Manager, "kubectl") {
			return false
		}
	}
	return len(m.GetOwnerReferences()) == 0
}

// creating are words of commands that make objects.
var creating = map[string]bool{"create": true, "apply": true, "replace": true, "run": true, "expose": true, "restore": true, "put": true, "undo": true}

// makesAgain reports whether a command that a beat offers makes objects.
func (l *Lesson) makesAgain(step *Step) bool {
	var offers []string
	for _, o := range step.Offers {
		offers = append(offers, o.Run.bare())
	}
	return l.speakOf(offers, creating)
}
