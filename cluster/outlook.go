package cluster

import (
	"fmt"
	"time"

	"kviz/cluster/control"
	"kviz/cluster/serve"
	"kviz/cluster/trace"
)

// Foresee says before a fork is made how long it will take and which parts of the run will
// not be repeated exactly; the error is why it cannot be made.
func Foresee(past []*trace.Event, at trace.ID) (control.ForkOutlook, error) {
	f := ForkConfig{At: at}
	cfg, inputs, want, err := prepareFork(past, &f)
	if err != nil {
		return control.ForkOutlook{}, err
	}
	o := control.ForkOutlook{Events: uint64(len(want)), About: usualTime(uint64(len(want)))}
	outside := 0
	for _, in := range inputs {
		if in.Closed != "" {
			return o, fmt.Errorf("the run cannot be run again to #%s: what entered %s after the start could not be written down: %s", at, in.At, in.Closed)
		}
		if serve.FromOutside(in) {
			outside++
		}
	}
	if !cfg.Bare {
		o.NotExactly = append(o.NotExactly, "What the store's members say to one another (elections, messages, terms) takes its own way to the same writes.")
	}
	switch {
	case outside == 1:
		o.NotExactly = append(o.NotExactly, "A request of another program enters where it did; the program is not there any more.")
	case outside > 1:
		o.NotExactly = append(o.NotExactly, fmt.Sprintf("%d requests of other programs enter where they did; the programs are not there any more.", outside))
	}
	for _, line := range atWork(want) {
		o.NotExactly = append(o.NotExactly, "It runs at that moment, and ends there: "+line)
	}
	return o, nil
}

// usualTime is how long a usual machine takes for so many events.
func usualTime(events uint64) time.Duration {
	return time.Duration(float64(events) / usuallyInSecond * float64(time.Second))
}

// atWork are the commands that have begun and not ended.
func atWork(events []*trace.Event) (lines []string) {
	type command struct {
		id   trace.ID
		line string
	}
	var open []command
	for _, e := range events {
		c, ok := e.Payload.(*trace.Command)
		switch {
		case !ok:
		case e.Kind == trace.CommandStart:
			open = append(open, command{e.ID, c.Line})
		case e.Kind == trace.CommandEnd:
			for i := range open {
				if len(e.Causes) > 0 && open[i].id == e.Causes[0] {
					open = append(open[:i], open[i+1:]...)
					break
				}
			}
		}
	}
	for _, c := range open {
		lines = append(lines, c.line)
	}
	return lines
}
