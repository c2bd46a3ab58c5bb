package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"kviz/cluster/client/clienttest"
	"kviz/cluster/scheduler"
	"kviz/cluster/scheduler/configuration"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// A binding waits for its claims for bindTimeoutSeconds.
func TestBindTimeoutSeconds(t *testing.T) {
	const args = "profiles: [{pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: 5}}]}]"
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
		e := start(b, scheduler.Config{Configuration: clienttest.Must(configuration.Read([]byte(head + args)))})
		for _, line := range []string{
			"class late provisioner=example.com/disk mode=WaitForFirstConsumer", "node n1 cpu=1", "claim data class=late size=1Gi", "pod a claim=data",
		} {
			e.do(task, strings.Fields(line))
			task.Sleep(time.Second)
		}
		task.Sleep(6 * time.Second)
	})
	var begun time.Duration
	for _, ev := range b.Events {
		d, ok := ev.Payload.(*trace.Decision)
		switch {
		case ok && ev.Kind == trace.SchedDecision && d.Node != "" && begun == 0:
			begun = ev.At
		case ok && ev.Kind == trace.SchedBind:
			if took := (ev.At - begun).Round(100 * time.Millisecond); took != 5*time.Second || !strings.Contains(d.Message, "binding volumes: context deadline exceeded") {
				t.Errorf("after %v: %q", took, d.Message)
			}
			return
		}
	}
	t.Error("the binding has not ended")
}
