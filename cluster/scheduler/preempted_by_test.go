package scheduler_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/scheduler"
	"kviz/cluster/sim"
)

// Of two profiles, the one of the pod that makes room is named in what its victim is told.
func TestPreemptionCarriesThePreemptorsProfile(t *testing.T) {
	for _, by := range []string{"default-scheduler", "packing"} {
		clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
			e := start(b, scheduler.Config{Configuration: configured("two-profiles.yaml")})
			do := func(line string) { e.do(task, strings.Fields(line)); task.Sleep(time.Second) }
			do("node n1 cpu=1 memory=1Gi")
			do("pod victim cpu=1")
			keep := e.pod("victim")
			keep.Finalizers = []string{"kviz.test/keep"}
			clienttest.Must(client.Update(task, e.c, client.Pods, "demo", keep))
			do("pod more-important cpu=1 priority=9 scheduler=" + by)
			var told string
			for _, o := range e.Objects(client.NewEvents) {
				if ev := o.(*eventsv1.Event); ev.Reason == "Preempted" {
					told = ev.ReportingController
				}
			}
			if told != by {
				t.Errorf("the Event is of %q, want %q", told, by)
			}
			want := by + ": preempting to accommodate a higher priority pod"
			for _, c := range e.pod("victim").Status.Conditions {
				if c.Type == corev1.DisruptionTarget && c.Message == want {
					return
				}
			}
			t.Errorf("the victim's conditions are %v, want %q", e.pod("victim").Status.Conditions, want)
		})
	}
}
