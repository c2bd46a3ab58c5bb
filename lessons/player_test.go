package lessons_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/lessons"
	"kviz/raftstore/steady"
)

// player drives lessons through their API, as the explorer does.
type player struct {
	t *testing.T
	*lessons.Player
	c *cluster.Cluster
}

// until looks until something holds, and gives what is shown then.
func (p *player) until(what string, ok func(lessons.Look) bool) lessons.Look {
	p.t.Helper()
	var look lessons.Look
	steady.Await(p.t, what, func() error {
		if look = p.Look(); !ok(look) {
			return fmt.Errorf("step %d shows:\n%s", look.Step, look.Text)
		}
		return nil
	})
	return look
}

func (p *player) out(line string) string {
	p.t.Helper()
	var out strings.Builder
	if exit := p.c.Exec(context.Background(), line, control.Streams{In: strings.NewReader(""), Out: &out, Err: &out, Source: "console"}); exit != 0 {
		p.t.Fatalf("%s ended with %d:\n%s", line, exit, out.String())
	}
	return out.String()
}

func (p *player) run(line string) {
	p.t.Helper()
	var out strings.Builder
	if exit := p.c.Exec(context.Background(), line, control.Streams{In: strings.NewReader(""), Out: &out, Err: &out, Source: "console"}); exit != 0 {
		p.t.Fatalf("%s ended with %d:\n%s", line, exit, out.String())
	}
}
