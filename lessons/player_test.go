package lessons_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/lessons"
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
	end := time.After(60 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		look := p.Look()
		if ok(look) {
			return look
		}
		select {
		case <-end:
			p.t.Fatalf("never %s; step %d shows:\n%s", what, look.Step, look.Text)
		case <-tick.C:
		}
	}
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
