package filters_test

import (
	"testing"
	"time"

	"kviz/cluster/apiserver/filters"
	"kviz/cluster/apiserver/request"
)

// A request has a minute from when it began, or less if it says so; what may last has no end.
func TestDeadline(t *testing.T) {
	const began = 10 * time.Second
	for name, c := range map[string]struct {
		req   request.Request
		lasts bool
		want  time.Duration
	}{
		"a read":                  {request.Request{Verb: "get"}, false, began + time.Minute},
		"one with a timeout":      {request.Request{Verb: "list", Timeout: 3 * time.Second}, false, began + 3*time.Second},
		"one with a long timeout": {request.Request{Verb: "create", Timeout: time.Hour}, false, began + time.Minute},
		"a watch":                 {request.Request{Verb: "watch", Timeout: time.Second}, false, 0},
		"a connection":            {request.Request{Verb: "create"}, true, 0},
	} {
		if got := filters.Deadline(&c.req, began, c.lasts); got != c.want {
			t.Errorf("%s ends at %v, want %v", name, got, c.want)
		}
	}
}
