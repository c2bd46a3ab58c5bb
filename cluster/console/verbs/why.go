package verbs

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"kviz/cluster/glossary"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// maxLines bounds the short answer of why.
const maxLines = 60

// why prints what led to an event, down to what started it; or, of an object, the answers
// to what people ask of one in its state, what led to its last write, and what took long;
// of one that is gone, who deleted it; of a part of the cluster, how it is and what made it
// so; of a word, what it means.
func why(_ context.Context, inv *use, args []string) int {
	flags := pflag.NewFlagSet("why", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	full := flags.Bool("full", false, "")
	namespace := flags.StringP("namespace", "n", orDefault(inv.cfg.Namespace()), "")
	if err := flags.Parse(args); err != nil || flags.NArg() == 0 {
		return inv.badUse()
	}
	what := strings.Join(flags.Args(), " ")
	stream := inv.cfg.Cluster.Trace
	if id, err := trace.ParseID(what); err == nil {
		return whyEvent(inv, stream, id, *full)
	}
	h := view.NewHistory(stream)
	h.CatchUp(0)
	if c := glossary.Find(what); c != nil && flags.NArg() > 1 {
		return whyWord(inv, c)
	}
	if flags.NArg() == 2 { // kubectl takes "pod web" for pod/web
		what = flags.Arg(0) + "/" + flags.Arg(1)
	}
	if strings.Contains(what, "/") && flags.NArg() <= 2 {
		if done, code := whyObject(inv, h, parseName(what, *namespace), *full); done {
			return code
		}
	}
	if p := h.Latest().PartOf(what); p != nil {
		whyPart(inv, h, p, *full)
		return 0
	}
	if c := glossary.Find(what); c != nil {
		return whyWord(inv, c)
	}
	if strings.Contains(what, "/") {
		fmt.Fprintf(inv.Err, "kviz why: %s\n", parseName(what, *namespace).missing(h.Latest()))
		return 1
	}
	fmt.Fprintf(inv.Err, "kviz why: %q is no event's number, no KIND/NAME, no part of the cluster and no word of the glossary", what)
	if near := glossary.Near(what); near != "" {
		fmt.Fprintf(inv.Err, "; did you mean %q?", near)
	}
	fmt.Fprintln(inv.Err)
	return 2
}

func orDefault(namespace string) string {
	if namespace == "" {
		return "default"
	}
	return namespace
}

func whyEvent(inv *use, stream *trace.Stream, id trace.ID, full bool) int {
	if _, _, ok := stream.At(id); !ok {
		fmt.Fprintf(inv.Err, "kviz why: %s\n", NoEvent(stream, id, "in memory"))
		return 1
	}
	h := view.NewHistory(stream)
	h.CatchUp(0)
	WriteWhy(inv.Out, h.Why(id), full)
	writeStages(inv.Out, h.Latest(), h.Event(id))
	return 0
}

// whyWord tells what a word means.
func whyWord(inv *use, c *glossary.Concept) int {
	fmt.Fprintf(inv.Out, "%s: %s\nThe explorer shows it in its pane %s: %s.\n", c.Word, c.Means, c.Pane, c.Look)
	return 0
}

// whyPart answers for what is no object: the store, a member, a process.
func whyPart(inv *use, h *view.History, p *view.Part, full bool) {
	writeReasons(inv.Out, p.Reasons)
	if !p.Event.IsZero() {
		WriteWhy(inv.Out, h.Why(p.Event), full)
	}
}

// whyObject answers for an object, or for one that is gone; done is false if there was none.
func whyObject(inv *use, h *view.History, n objectName, full bool) (done bool, code int) {
	s := h.Latest()
	o := n.in(s)
	if o == nil {
		d := h.Deletion(n.could, []string{n.namespace, ""}, n.name)
		if d == nil || !n.means(d.Object) {
			return false, 0
		}
		writeDeletion(inv.Out, h, d, full)
		return true, 0
	}
	writeReasons(inv.Out, s.Reasons(o))
	fmt.Fprintf(inv.Out, "%s, version %d, last written at revision %d\n", o.Ref, o.Version, o.Revision)
	depends, _ := s.Availability(o)
	writeKeepers(inv.Out, depends)
	writeRoom(inv.Out, s, o)
	writeChanges(inv.Out, s, o)
	writeTopology(inv.Out, s, o, full)
	WriteWhy(inv.Out, h.Why(o.Changed), full)
	writeTook(inv.Out, s, o, full)
	return true, 0
}

// writeReasons writes the answers, each with what it comes from.
func writeReasons(w io.Writer, reasons []view.Reason) {
	for _, r := range reasons {
		fmt.Fprintln(w, r.Says)
		writeKeepers(w, r.From)
	}
}

func writeKeepers(w io.Writer, list []view.Keeper) {
	for _, k := range list {
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
		why := ""
		if k.Why != "" {
			why = ": " + k.Why
		}
		fmt.Fprintf(w, "  %s %s%s%s\n", mark, k.What, at, why)
	}
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
