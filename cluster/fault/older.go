package fault

import "kviz/cluster/trace"

// Complete gives the faults of a recording their words about what is over with them, where
// it is from before its events said so: without these everything that was mended in it would
// be shown as broken. An event that says something keeps its words.
func Complete(events []*trace.Event) {
	for _, e := range events {
		f, ok := e.Payload.(*trace.Fault)
		if !ok || len(f.Undoes) > 0 || f.Passing || f.Members {
			continue
		}
		kind := TargetKind(f.Target)
		if r, ok := Find(kind, f.Fault); ok {
			f.Undoes, f.Passing, f.Members, f.Links = undoes(kind, r), r.Passing, r.Members, r.Links
		}
	}
}
