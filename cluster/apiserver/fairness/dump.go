package fairness

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Described is a request that can tell what it is: a [Seat]'s Owner.
type Described interface {
	Digest() *Digest
	// About are verb, path, name and API version.
	About() (verb, path, name, apiVersion string)
}

// Dump writes /debug/api_priority_and_fairness/NAME, where NAME is one of
// dump_priority_levels, dump_queues and dump_requests, as upstream does
// (apf_controller_debug.go), but with levels by name. Times count from the epoch.
// It reports whether there is such a dump.
func (c *Controller) Dump(w io.Writer, now time.Duration, epoch time.Time, name string, details bool) bool {
	c.catchUp(now)
	t := tabwriter.NewWriter(w, 8, 0, 1, ' ', 0)
	defer t.Flush()
	switch name {
	case "dump_priority_levels":
		c.dumpLevels(t)
	case "dump_queues":
		c.dumpQueues(t)
	case "dump_requests":
		c.dumpRequests(t, epoch, details)
	default:
		return false
	}
	return true
}

func line(w io.Writer, columns ...any) {
	all := make([]string, len(columns))
	for i, c := range columns {
		all[i] = fmt.Sprint(c)
	}
	fmt.Fprintln(w, strings.Join(all, ",\t"))
}

func (c *Controller) dumpLevels(w io.Writer) {
	line(w, "PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests", "ExecutingRequests",
		"DispatchedRequests", "RejectedRequests", "TimedoutRequests", "CancelledRequests")
	for _, name := range c.order {
		l := c.levels[name]
		st := l.State()
		// Timed out are none, in upstream either: who waits too long is cancelled.
		line(w, name, st.Busy, l.set.idle(), l.ends, st.Waiting, st.Executing, st.Dispatched, st.Rejected, 0, st.Cancelled)
	}
}

func (c *Controller) dumpQueues(w io.Writer) {
	line(w, "PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse", "NextDispatchR", "InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum")
	for _, name := range c.order {
		for i, q := range c.levels[name].set.queues {
			seats, width := 0, 0
			for s := q.waiting.first; s != nil; s = s.next {
				seats, width = seats+s.work.Seats, width+s.work.Width()
			}
			line(w, name, i, q.length, q.served, q.inUse, q.next, seats, width, q.work)
		}
	}
}

func (c *Controller) dumpRequests(w io.Writer, epoch time.Time, details bool) {
	head := []any{"PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher", "ArriveTime", "InitialSeats", "FinalSeats", "AdditionalLatency", "StartTime"}
	if details {
		head = append(head, "UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource")
	}
	line(w, head...)
	for _, name := range c.order {
		set := &c.levels[name].set
		all := func(r row, queue int, waits bool) {
			i := -1
			for s := r.first; s != nil; s = s.next {
				if waits {
					i++
				}
				line(w, s.columns(name, queue, i, epoch, details)...)
			}
		}
		for i, q := range set.queues {
			all(q.waiting, i, true)
			all(q.sitting, i, false)
		}
		all(set.direct, -1, false)
	}
}

func (s *Seat) columns(level string, queue, index int, epoch time.Time, details bool) []any {
	stamp := func(d time.Duration) string { return epoch.Add(d).UTC().Format(time.RFC3339Nano) }
	began := time.Time{}.Format(time.RFC3339Nano) // of those that wait
	if s.state == sits {
		began = stamp(s.began)
	}
	owner, _ := s.Owner.(Described)
	d := &Digest{}
	if owner != nil {
		d = owner.Digest()
	}
	flow := ""
	if s.set.dealt > 1 {
		flow = s.schema.Flow(d)
	}
	out := []any{level, s.schema.Name, strconv.Itoa(queue), strconv.Itoa(index), flow, stamp(s.came), s.work.Seats, s.work.Final, s.work.Latency, began}
	if details && owner != nil {
		verb, path, name, version := owner.About()
		out = append(out, d.User, verb, path, d.Namespace, name, version, d.Resource, d.Subresource)
	}
	return out
}
