package view

import "kviz/cluster/trace"

// effects is the index from an event to what it caused: for each kept event
// the newest of its effects, and from each effect to the one before. It costs
// a few bytes an event.
type effects struct {
	first uint64 // position that heads[0] stands for
	heads []int32
	edges []edge
	base  int32 // number of the edge at edges[0]
	seqs  []uint64
	seq0  uint64 // control-plane number that seqs[0] stands for
}

// edge says that the event at position to names the event it is listed under
// as a cause. Edges are numbered from 1.
type edge struct {
	to   uint64
	prev int32
}

// start starts over at a position.
func (x *effects) start(pos uint64) { *x = effects{first: pos} }

// add takes in the event at pos, the next one.
func (x *effects) add(s *trace.Stream, e *trace.Event, pos uint64) {
	x.heads = append(x.heads, 0)
	if e.ID.Sub == 0 {
		if len(x.seqs) == 0 {
			x.seq0 = e.ID.Seq
		}
		if e.ID.Seq == x.seq0+uint64(len(x.seqs)) {
			x.seqs = append(x.seqs, pos)
		}
	}
	for i, c := range e.Causes {
		if i > 0 && c == e.Causes[i-1] {
			continue
		}
		at, ok := x.position(s, c)
		if !ok || at < x.first || at >= pos {
			continue
		}
		h := at - x.first
		x.edges = append(x.edges, edge{pos, x.heads[h]})
		x.heads[h] = x.base + int32(len(x.edges))
	}
}

// position finds an event: control-plane events by their number, the others
// right after them.
func (x *effects) position(s *trace.Stream, id trace.ID) (uint64, bool) {
	if id.Seq >= x.seq0 && id.Seq < x.seq0+uint64(len(x.seqs)) {
		pos := x.seqs[id.Seq-x.seq0] + uint64(id.Sub)
		if pos < s.First() {
			return 0, false
		}
		if e := s.Get(pos); e != nil && e.ID == id {
			return pos, true
		}
	}
	// Not from the archive: this is asked for every event.
	if oldest := s.Get(s.First()); oldest == nil || id.Compare(oldest.ID) < 0 {
		return 0, false
	}
	_, pos, ok := s.At(id)
	return pos, ok
}

// of lists the positions of what the event at pos caused, oldest first, at
// most limit of the newest.
func (x *effects) of(pos uint64, limit int) []uint64 {
	if pos < x.first || pos >= x.first+uint64(len(x.heads)) {
		return nil
	}
	var out []uint64
	for n := x.heads[pos-x.first]; n > x.base && len(out) < limit; {
		e := x.edges[n-x.base-1]
		out = append(out, e.to)
		n = e.prev
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// forget lets go of what lies before a position, once it is most of all.
func (x *effects) forget(first uint64) {
	if first < x.first+uint64(len(x.heads))/2 || first-x.first < 4096 {
		return
	}
	x.heads = append([]int32(nil), x.heads[first-x.first:]...)
	x.first = first
	cut := 0
	for cut < len(x.edges) && x.edges[cut].to < first {
		cut++
	}
	x.edges = append([]edge(nil), x.edges[cut:]...)
	x.base += int32(cut)
	if x.base > 1<<30 {
		x.base, x.edges = 0, nil
		clear(x.heads)
	}
	drop := 0
	for drop < len(x.seqs) && x.seqs[drop] < first {
		drop++
	}
	x.seqs = append([]uint64(nil), x.seqs[drop:]...)
	x.seq0 += uint64(drop)
}
