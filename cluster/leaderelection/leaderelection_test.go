package leaderelection_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kviz/cluster/client/clienttest"
	"kviz/cluster/leaderelection"
	"kviz/cluster/record"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Two copies of a component: one leads. It dies, and the other waits until the
// Lease has run out. Then the server is away: who cannot renew for 10 s stops,
// before anybody else could lead.
func TestOneLeadsAtATime(t *testing.T) {
	var out strings.Builder
	leading := map[string]bool{}
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
		say := func(t *sim.Task, format string, args ...any) {
			fmt.Fprintf(&out, "%9.3fs  %s\n", t.Elapsed().Seconds(), fmt.Sprintf(format, args...))
		}
		candidate := func(name string) *sim.Process {
			p := b.Kernel.NewProcess(trace.Lane{Component: "controller-manager", Instance: name})
			p.Go("election", func(me *sim.Task) {
				leaderelection.Run(me, b.Client(), record.New(p, b.Client(), "controller-manager"), "manager", name, func(started *sim.Task) {
					say(started, "%s leads", name)
					leading[name] = true
					if len(leading) > 1 {
						t.Errorf("several lead: %v", leading)
					}
				}, func(trace.ID) {
					say(me, "%s stops", name)
					delete(leading, name)
				})
			})
			return p
		}
		first := candidate("one")
		task.Sleep(time.Second)
		second := candidate("two")
		task.Sleep(time.Minute)
		say(task, "# one is killed")
		first.Kill()
		delete(leading, "one")
		task.Sleep(time.Minute)
		say(task, "# the server is away for half a minute")
		b.SetDown(true)
		task.Sleep(30 * time.Second)
		b.SetDown(false)
		candidate("three")
		task.Sleep(time.Minute)
		second.Kill()
	})
	clienttest.Golden(t, "life.txt", out.String()+"\nevents:\n"+b.Transcript(trace.LeaderElected, trace.EventRecorded))
}
