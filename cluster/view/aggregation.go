package view

import (
	"fmt"

	"kviz/cluster/trace"
)

// AggregatedAPI is an APIService that another server is behind, as it was found last.
type AggregatedAPI struct {
	gen
	Name  string
	Last  *trace.APIServiceCheck
	Event trace.ID // of that
	Since trace.ID // since when it is so
	By    string   // the API server that looked: "apiserver", "apiserver/b"
}

func (a *AggregatedAPI) seal() {}

// AggregatedAPIs lists the aggregated APIs that were looked at, by name.
func (s *State) AggregatedAPIs() []*AggregatedAPI { return s.aggregated.values() }

func init() {
	on(trace.APIServiceChecked, func(b *Builder, e *trace.Event, p *trace.APIServiceCheck) {
		a := edit(b, b.s.aggregated, p.APIService)
		a.Name, a.Last, a.Event, a.By = p.APIService, p, e.ID, e.Lane.String()
		if p.Changed {
			a.Since = e.ID
		}
	})
	say(trace.APIServiceChecked, func(_ *trace.Event, p *trace.APIServiceCheck) string {
		if p.Available == "True" {
			return fmt.Sprintf("the server behind APIService %s answers (Service %s%s): it is available", p.APIService, p.Service, tail(", endpoint ", p.Endpoint))
		}
		return fmt.Sprintf("APIService %s is not available: %s, %s", p.APIService, p.Reason, p.Message)
	})
}
