package view

import (
	"slices"

	"kviz/cluster/trace"
)

// Belief is one thing of an object that a client's cache has otherwise than the store.
type Belief struct {
	Object           trace.Ref
	Path             string // of the field; "" where it is about the whole object
	Believes, Stored string
}

// Beliefs is what a client's cache has beside what is stored, of objects of whose changes
// it does not know; changes has those oldest first. Fields that are equal in the end, and
// the revision, are left out.
func Beliefs(changes []Stale) []Belief {
	var all []Belief
	for _, c := range changes {
		fields := c.Unknown
		switch c.Type {
		case "ADDED":
			fields = []trace.FieldDiff{{From: "it is not there", To: "it is there"}}
		case "DELETED":
			fields = []trace.FieldDiff{{From: "it is there", To: "it is gone"}}
		}
		for _, d := range fields {
			if d.Path == "metadata.resourceVersion" {
				continue
			}
			at := slices.IndexFunc(all, func(b Belief) bool { return b.Object == c.Object && b.Path == d.Path })
			if at < 0 {
				all = append(all, Belief{c.Object, d.Path, orElse(d.From, "nothing"), ""})
				at = len(all) - 1
			}
			all[at].Stored = orElse(d.To, "nothing")
		}
	}
	all = slices.DeleteFunc(all, func(b Belief) bool { return b.Believes == b.Stored })
	slices.SortStableFunc(all, func(a, b Belief) int { return firstOf(changes, a.Object) - firstOf(changes, b.Object) })
	return all
}

func firstOf(changes []Stale, object trace.Ref) int {
	return slices.IndexFunc(changes, func(s Stale) bool { return s.Object == object })
}
