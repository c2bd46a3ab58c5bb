package view

import "kviz/cluster/trace"

// Explain says in one plain sentence what an event is: the explanation line of
// the explorer, and what kviz why and kviz trace print.
func Explain(e *trace.Event) string {
	return e.Kind.Info().Means
}
