package travel

import (
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// path is what came of a command or a fault, as far as it was looked for.
type path struct {
	*view.Path
	next uint64 // position of the first event that it does not know
}

// Along goes to the next thing, of a grain or coarser, that a command or a fault led to,
// and reports whether there is one up to now.
func (t *Travel) Along(of trace.ID, least trace.Grain) bool {
	stream, w := t.hist.Stream(), t.Where()
	p := &t.path
	if p.Path == nil || p.Of() != of {
		*p = path{view.NewPath(of), stream.Search(of)}
	}
	here := t.state.Last
	for _, id := range p.Stations() {
		if e, pos, ok := stream.At(id); ok && id.Compare(here) > 0 && pos > w.At && e.Grain() >= least {
			t.To(pos)
			return true
		}
	}
	for ; p.next < w.Len; p.next++ {
		e := stream.Get(p.next)
		if e != nil && p.Take(e) && p.next > w.At && e.Grain() >= least {
			p.next++
			t.To(p.next - 1)
			return true
		}
	}
	return false
}
