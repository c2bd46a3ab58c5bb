// Package panes lists the panes of the explorer. To add one, write its package and add
// a line here: its key and its tab, its place in the layouts, its page of the help, its
// entries in the glossary, the palette and the jump list, the lessons that may show it
// and its golden frames all come from this list.
//
// Start reading at the list.
package panes

import (
	"kviz/tui/pane"
	"kviz/tui/pane/apipipe"
	"kviz/tui/pane/clustermap"
	"kviz/tui/pane/events"
	"kviz/tui/pane/network"
	"kviz/tui/pane/nodes"
	"kviz/tui/pane/object"
	"kviz/tui/pane/queues"
	"kviz/tui/pane/scheduler"
	"kviz/tui/pane/store"
)

// All are the panes in their order, which is that of their keys.
var All = []pane.Maker{
	pane.Make(clustermap.New),
	pane.Make(store.New),
	pane.Make(apipipe.New),
	pane.Make(events.New),
	pane.Make(queues.New),
	pane.Make(scheduler.New),
	pane.Make(nodes.New),
	pane.Make(network.New),
	pane.Make(object.New),
}

// Names are the names of all panes, in their order.
func Names() []string {
	var names []string
	for _, make := range All {
		names = append(names, make().Info().Name)
	}
	return names
}
