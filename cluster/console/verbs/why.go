package verbs

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/nearest"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// maxLines bounds the short answer of why.
const maxLines = 60

// why prints what led to an event, down to what started it; or, of an object, what its
// state depends on, what led to its last write, and what took long; of one that is gone, who deleted it.
func why(_ context.Context, inv *use, args []string) int {
	flags := pflag.NewFlagSet("why", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	full := flags.Bool("full", false, "")
	namespace := flags.StringP("namespace", "n", orDefault(inv.cfg.Namespace()), "")
	if err := flags.Parse(args); err != nil || flags.NArg() != 1 {
		return inv.badUse()
	}
	stream := inv.cfg.Cluster.Trace
	if strings.Contains(flags.Arg(0), "/") {
		return whyObject(inv, stream, *namespace, flags.Arg(0), *full)
	}
	id, err := trace.ParseID(flags.Arg(0))
	if err != nil {
		fmt.Fprintf(inv.Err, "kviz why: %v\n", err)
		return 2
	}
	if _, _, ok := stream.At(id); !ok {
		fmt.Fprintf(inv.Err, "kviz why: %s\n", NoEvent(stream, id, "in memory"))
		return 1
	}
	h := view.NewHistory(stream)
	h.CatchUp(0)
	WriteWhy(inv.Out, h.Why(id), *full)
	writeStages(inv.Out, h.Latest(), h.Event(id))
	return 0
}

func orDefault(namespace string) string {
	if namespace == "" {
		return "default"
	}
	return namespace
}

// whyObject answers for KIND/NAME.
func whyObject(inv *use, stream *trace.Stream, namespace, what string, full bool) int {
	kind, name, _ := strings.Cut(what, "/")
	h := view.NewHistory(stream)
	h.CatchUp(0)
	s := h.Latest()
	resource := view.ResourceOf(strings.ToLower(kind))
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: strings.ToLower(kind)})
	could := []string{resource, plural.Resource} // a word may be a short name, or a kind that is not known by its plural
	if s.Resources()[resource] == 0 {
		resource = plural.Resource
	}
	o := s.Object(resource, namespace, name)
	if o == nil {
		o = s.Object(resource, "", name)
	}
	if o == nil {
		if d := h.Deletion(could, []string{namespace, ""}, name); d != nil {
			writeDeletion(inv.Out, h, d, full)
			return 0
		}
		var names []string
		for _, x := range s.Objects(resource, "") {
			names = append(names, x.Name())
		}
		fmt.Fprintf(inv.Err, "kviz why: there is no %s %q, in namespace %s or without one", kind, name, namespace)
		if near := nearest.To(name, names); near != "" {
			fmt.Fprintf(inv.Err, "; did you mean %q?", near)
		}
		fmt.Fprintln(inv.Err)
		return 1
	}
	fmt.Fprintf(inv.Out, "%s, version %d, last written at revision %d\n", o.Ref, o.Version, o.Revision)
	for _, text := range o.Inert() {
		fmt.Fprintf(inv.Out, "  ! %s\n", text)
	}
	depends, _ := s.Availability(o)
	for _, k := range append(depends, s.KeepersOf(o)...) {
		mark, at := "✗", ""
		switch {
		case k.Of != "":
			mark = "    ←"
		case k.Good:
			mark = "✓"
		}
		if !k.Event.IsZero() {
			at = " #" + k.Event.String()
		}
		fmt.Fprintf(inv.Out, "  %s %s%s: %s\n", mark, k.What, at, k.Why)
	}
	writeChanges(inv.Out, s, o)
	WriteWhy(inv.Out, h.Why(o.Changed), full)
	writeTook(inv.Out, s, o)
	return 0
}

// writeDeletion tells of an object that has been deleted: who did it, when and by which
// request, and what led to that.
func writeDeletion(w io.Writer, h *view.History, d *view.Deletion, full bool) {
	o := d.Object
	fmt.Fprintf(w, "%s is gone: deleted at %.3fs (#%s, revision %d); its last version was %d\n", o.Ref, o.At.Seconds(), o.Changed, o.Revision, o.Version)
	if r := d.Request; r != nil {
		fmt.Fprintf(w, "  %s asked for it at %.3fs (#%s): %s %s, from %s\n", r.User, r.At.Seconds(), r.Received, r.Verb, r.Path, r.Client)
		for _, run := range r.Stage(trace.StageImpersonation) {
			if run.By != "" { // the rule that let the sender be somebody else
				fmt.Fprintf(w, "  %s\n", run.Note)
			}
		}
	} else {
		fmt.Fprintf(w, "  #%s took it away, for no request that is known\n", d.Asked.Event)
	}
	if d.Waited() {
		fmt.Fprintf(w, "  it stayed for %.3fs more, until nothing kept it\n", (o.At - d.Asked.At).Seconds())
	}
	WriteWhy(w, h.Why(o.Changed), full)
}

// NoEvent says that there is no event of this number in a stream, and which is
// nearest.
func NoEvent(s *trace.Stream, id trace.ID, where string) string {
	text := fmt.Sprintf("there is no event #%s %s", id, where)
	first, last := s.Get(s.First()), s.Last()
	if first == nil || last == nil {
		return text
	}
	near := last.ID
	if e := s.Get(s.Search(id)); e != nil {
		near = e.ID
	}
	return fmt.Sprintf("%s; it has #%s to #%s, and the nearest is #%s", text, first.ID, last.ID, near)
}

// WriteWhy writes the answer to "why?" as a tree: an event, below it its cause,
// below that the cause's cause. Where an event has several causes each has a
// branch of its own, the one that leads to the beginning first. Without full,
// plumbing (pipeline stages, caches, queues) is left out.
func WriteWhy(w io.Writer, links []view.Link, full bool) {
	t := &whyTree{w: w, links: links, below: map[int][]int{}, left: maxLines}
	if full {
		t.left = len(links)
	}
	// Where the nearest ancestor that is shown stands.
	shownAt := make([]int, len(links))
	told := map[[2]any]bool{} // a cause that an event has by several ways of plumbing is printed once
	for i, l := range links {
		above := -1
		if i > 0 {
			above = shownAt[l.From]
		}
		shownAt[i] = i
		if i > 0 && l.Minor && !full {
			shownAt[i] = above
			continue
		}
		if key := [2]any{above, l.ID}; i > 0 && !told[key] {
			told[key] = true
			t.below[above] = append(t.below[above], i)
		}
	}
	if len(links) > 0 {
		t.write(0, "", "")
	}
	if t.left < 0 {
		fmt.Fprintf(w, "… and %d more (--full shows them all)\n", -t.left)
	}
}

type whyTree struct {
	w     io.Writer
	links []view.Link
	below map[int][]int // link to its causes
	left  int           // lines that may still be written
}

// write writes a link and what is below it; first stands before its own line,
// rest before those that follow.
func (t *whyTree) write(i int, first, rest string) {
	if t.left--; t.left >= 0 {
		fmt.Fprintln(t.w, first+said(t.links[i]))
	}
	causes := t.below[i]
	if len(causes) == 1 {
		t.write(causes[0], rest, rest)
		return
	}
	for n, c := range causes {
		if n < len(causes)-1 {
			t.write(c, rest+"├ ", rest+"│ ")
		} else {
			t.write(c, rest+"└ ", rest+"  ")
		}
	}
}

func said(l view.Link) string {
	switch {
	case l.Event == nil:
		return fmt.Sprintf("#%s is not in memory any more", l.ID)
	case l.Again:
		return fmt.Sprintf("#%s again, as above", l.ID)
	}
	e := *l.Event
	e.Causes = nil // they are the lines below
	return trace.Line(&e, view.Explain(l.Event))
}
