package runtime_test

import (
	"testing"
	"time"

	"kviz/cluster/runtime"
)

// A container that says how much processor an answer takes uses what its answers come to, on average
// over a quarter of a minute, and not more than its limit.
func TestAnswersUseTheProcessor(t *testing.T) {
	run(t, "10.244.1.0/24", func(b *bench) {
		_, err := b.start("web", runtime.ContainerConfig{Image: "nginx", Behaviour: "serve 80; burn 150ms", RequestsCPU: 200, LimitsCPU: 500})
		if err != nil {
			t.Fatal(err)
		}
		use := func() int64 {
			pods, _, _ := b.rt.Usage()
			return pods[0].Containers[0].CPU / 1_000_000
		}
		for _, step := range []struct{ answers, want int64 }{{0, 0}, {10, 100}, {20, 300}, {100, 500}} {
			for range step.answers {
				b.rt.Connect("10.244.1.2", 80, "/")
			}
			if got := use(); got != step.want {
				t.Errorf("after %d more answers: %dm, want %dm", step.answers, got, step.want)
			}
		}
		b.t.Sleep(15 * time.Second)
		if got := use(); got != 0 {
			t.Errorf("a quarter of a minute later: %dm", got)
		}
	})
}
