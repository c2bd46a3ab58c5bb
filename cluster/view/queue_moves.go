package view

import (
	"fmt"

	"kviz/cluster/trace"
)

// maxMoves is how many of a pod's moves between the scheduler's queues are kept.
const maxMoves = 4

// QueueMove is one of a pod's moves between the scheduler's queues.
type QueueMove struct {
	*trace.SchedQueueMove
	Event trace.ID
}

// MovedBy says what moved a pod between the queues: the event, and the plugin whose hint let it.
func MovedBy(p *trace.SchedQueueMove) string {
	event := p.Event
	if p.Meanwhile != "" {
		event = p.Meanwhile
	}
	text := happened(event, p.About)
	if p.Meanwhile != "" {
		text += " during the attempt"
	}
	switch {
	case p.Plugin == "":
		return text
	case p.NoHint:
		return fmt.Sprintf("%s: %s has no hint for it, so each one may help", text, p.Plugin)
	}
	return fmt.Sprintf("%s: %s's hint says that it may help", text, p.Plugin)
}

// NotMoved says why an event left a pod in the unschedulable pool.
func NotMoved(p *trace.SchedQueueStay) string {
	event := happened(p.Event, p.About)
	switch len(p.Asked) {
	case 0:
		return fmt.Sprintf("not moved by %s: no plugin that rejected it is interested", event)
	case 1:
		return fmt.Sprintf("not moved by %s: %s's hint says that it does not help", event, p.Asked[0])
	}
	return fmt.Sprintf("not moved by %s: the hints of %s say that it does not help", event, joined(p.Asked))
}

// happened names an event of the cluster with its object: "NodeAdd of node-4".
func happened(event, about string) string {
	return event + tail(" of ", about)
}
