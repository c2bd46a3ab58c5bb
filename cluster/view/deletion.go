package view

import (
	"slices"

	"kviz/cluster/trace"
)

// Deletion is how an object went.
type Deletion struct {
	Object *Object
	// Asked is the store.commit of the write by which the deletion began: the one that
	// gave the object its deletionTimestamp, or, where nothing kept it, took it away.
	Asked Change
	// Request is the one that made this write, or nil where none did that is known: a key
	// whose lease ends is taken away by the store itself.
	Request *Request
}

// Waited reports whether the object stayed for a while after its deletion began: for
// finalizers, or until its containers had ended.
func (d *Deletion) Waited() bool { return d.Asked.Event != d.Object.Changed }

// Deletion is how the object of a name went that was deleted last, of one of these
// resources and namespaces; or nil where no event in memory tells of one. It looks through
// all of them, for of those that are folded only the last 128 are kept.
func (h *History) Deletion(resources, namespaces []string, name string) *Deletion {
	is := func(c trace.KeyChange) bool {
		return c.Deleted && c.Object.Name == name && slices.Contains(namespaces, c.Object.Namespace) && slices.Contains(resources, ResourceOf(c.Object.Kind))
	}
	for pos, first := h.Len(), h.stream.First(); pos > first; pos-- {
		e := h.stream.Get(pos - 1)
		if e == nil {
			break
		}
		p, ok := e.Payload.(*trace.Commit)
		if !ok {
			continue
		}
		for _, c := range p.Changes {
			if is(c) {
				return h.deletion(pos-1, c.Object)
			}
		}
	}
	return nil
}

func (h *History) deletion(pos uint64, ref trace.Ref) *Deletion {
	s := h.At(pos)
	if s == nil {
		return nil
	}
	o := s.Find(ref)
	if o == nil {
		return nil
	}
	d := &Deletion{Object: o}
	for _, c := range o.History() {
		d.Asked = c
		before := Object{Value: c.Value}
		if m := before.Meta(); m != nil && m.GetDeletionTimestamp() != nil {
			break
		}
	}
	if s = h.AtID(d.Asked.Event); s != nil {
		d.Request = s.requestOf(d.Asked.Event)
	}
	return d
}

// requestOf is the request that led to a store.commit, if it is still active or lately
// answered; or nil.
func (s *State) requestOf(commit trace.ID) *Request {
	for _, list := range [][]*Request{s.ActiveRequests(), s.Requests()} {
		for _, r := range list {
			if r.Commit == commit {
				return r
			}
		}
	}
	return nil
}
