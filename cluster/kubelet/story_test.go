package kubelet_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

const webPod = `
metadata: {name: web}
spec: {containers: [{name: app, image: nginx, readinessProbe: {httpGet: {port: 80}}}]}
`

// TestKubeletRestart: the kubelet dies, containers run on; what happens meanwhile
// is put right by the next one, and nothing that runs is restarted.
func TestKubeletRestart(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.create(webPod)
		b.create(strings.Replace(webPod, "web", "old", 1))
		b.waitReady("web")
		b.waitReady("old")
		was := b.pod("web")
		b.p.Kill()
		b.delete("old", 0) // the API server forgets it; nobody tells the runtime
		b.t.Sleep(time.Minute)
		if _, running := b.rt.AddressOf("demo", "old"); !running {
			t.Error("a container ended although its kubelet was dead")
		}
		b.start()
		b.t.Sleep(20 * time.Second)
		now := b.pod("web")
		if !isReady(now) || now.Status.PodIP != was.Status.PodIP || now.Status.ContainerStatuses[0].RestartCount != 0 {
			t.Errorf("after the kubelet's restart:\n%s", summary(now))
		}
		for _, c := range now.Status.Conditions {
			if c.Type == corev1.PodReady && c.LastTransitionTime != readyCondition(was).LastTransitionTime {
				t.Error("Ready went away and came back")
			}
		}
		b.wait("the orphan is gone", func() bool { _, ok := b.rt.AddressOf("demo", "old"); return !ok })
	})
}

func readyCondition(pod *corev1.Pod) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c
		}
	}
	return corev1.PodCondition{}
}

// TestPowerCut: after a power cut every pod starts again in a new sandbox and
// counts a restart.
func TestPowerCut(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.create(webPod)
		b.waitReady("web")
		b.p.Kill()
		b.rt.PowerOff()
		b.t.Sleep(time.Minute)
		b.rt.PowerOn()
		b.start()
		b.t.Sleep(20 * time.Second)
		if pod := b.pod("web"); !isReady(pod) || pod.Status.ContainerStatuses[0].RestartCount != 1 {
			t.Errorf("after the power came back:\n%s", summary(pod))
		}
	})
}

// TestRuntimeDown: with the runtime stopped the node is NotReady after 30 s, and
// ready soon after it is back; containers run on all the while.
func TestRuntimeDown(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.create(webPod)
		b.waitReady("web")
		down := b.t.Elapsed()
		b.rt.Stop()
		b.wait("NotReady", func() bool { return nodeReady(b) == "False" })
		if took := b.t.Elapsed() - down; took < 30*time.Second || took > 45*time.Second {
			t.Errorf("NotReady after %s, want a bit over 30 s", took)
		}
		b.rt.Start()
		b.wait("Ready", func() bool { return nodeReady(b) == "True" })
		if n := b.pod("web").Status.ContainerStatuses[0].RestartCount; n != 0 {
			t.Errorf("%d restarts", n)
		}
	})
}

func nodeReady(b *bench) string {
	for _, c := range b.Object(client.Nodes, "", "node-1").(*corev1.Node).Status.Conditions {
		if c.Type == corev1.NodeReady {
			return string(c.Status)
		}
	}
	return ""
}

// TestHeartbeats: the lease is renewed about every 10 s; the status is written
// when it changes and else every 5 min.
func TestHeartbeats(t *testing.T) {
	run(t, 1, func(b *bench) {
		before := b.Requests["patch nodes"]
		renewed := b.Requests["update leases"]
		b.t.Sleep(10 * time.Minute)
		if n := b.Requests["patch nodes"] - before; n < 1 || n > 3 {
			t.Errorf("%d status writes in 10 min without a change, want 2", n)
		}
		if n := b.Requests["update leases"] - renewed; n < 55 || n > 60 {
			t.Errorf("%d lease renewals in 10 min, want one every 10 to 10.4 s", n)
		}
	})
}

// TestProbes is the table of probe thresholds: when the pod is first ready, when
// it stops being so, and how often it has restarted after two minutes. Times are
// since the container's start.
func TestProbes(t *testing.T) {
	for _, c := range []struct {
		name, probes, behaviour string
		ready, unready          time.Duration // 0: never
		restarts                int32
	}{
		{"no probe: ready when it runs", "", "serve 80", time.Millisecond, 0, 0},
		{"readiness at once", "readinessProbe: {httpGet: {port: 80}}", "serve 80", time.Millisecond, 0, 0},
		{"readiness after initialDelaySeconds", "readinessProbe: {httpGet: {port: 80}, initialDelaySeconds: 10, periodSeconds: 5}", "serve 80", 10 * time.Second, 0, 0},
		{"readiness follows a slow start", "readinessProbe: {httpGet: {port: 80}, periodSeconds: 5}", "serve 80; start 12s", 15 * time.Second, 0, 0},
		{"successThreshold 3", "readinessProbe: {httpGet: {port: 80}, periodSeconds: 5, successThreshold: 3}", "serve 80", 10 * time.Second, 0, 0},
		{"readiness fails three times, no restart", "readinessProbe: {httpGet: {path: /ok, port: 80}, periodSeconds: 5, failureThreshold: 3}", "serve 80; fail /ok after 31s", time.Millisecond, 45 * time.Second, 0},
		{"liveness fails three times, restart", "livenessProbe: {httpGet: {path: /ok, port: 80}, periodSeconds: 10, failureThreshold: 3}", "serve 80; fail /ok after 35s", time.Millisecond, 0, 1},
		{"startup holds liveness back", "startupProbe: {httpGet: {port: 80}, periodSeconds: 5, failureThreshold: 30}, livenessProbe: {httpGet: {port: 80}, periodSeconds: 2, failureThreshold: 1}", "serve 80; start 23s", 25 * time.Second, 0, 0},
		{"startup gives up", "startupProbe: {tcpSocket: {port: 80}, periodSeconds: 5, failureThreshold: 6}", "serve 80; start 10m", 0, 0, 4},
		{"a probe that hangs times out", "readinessProbe: {httpGet: {port: 80}, periodSeconds: 5, timeoutSeconds: 2}", "serve 80; hang", 0, 0, 0},
		{"nothing listens", "readinessProbe: {tcpSocket: {port: 81}, periodSeconds: 5}", "serve 80", 0, 0, 0},
		{"exec", "readinessProbe: {exec: {command: [test, -f, /etc/hostname]}}", "serve 80", time.Millisecond, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, 1, func(b *bench) {
				b.create(fmt.Sprintf(`
metadata: {name: web, annotations: {kviz.dev/behaviour: %q}}
spec: {containers: [{name: app, image: nginx, %s}]}
`, c.behaviour, c.probes))
				b.wait("started", func() bool { con, ok := b.rt.Find("demo", "web", "app"); return ok && !con.StartedAt.IsZero() })
				con, _ := b.rt.Find("demo", "web", "app")
				var ready, unready time.Duration
				for b.t.Now().Sub(con.StartedAt) < 2*time.Minute {
					since := b.t.Now().Sub(con.StartedAt)
					if is := isReady(b.pod("web")); is && ready == 0 {
						ready = since
					} else if !is && ready > 0 && unready == 0 {
						unready = since
					}
					b.t.Sleep(100 * time.Millisecond)
				}
				near := func(what string, got, want time.Duration) {
					if want == 0 && got != 0 || want != 0 && (got < want || got > want+400*time.Millisecond) {
						t.Errorf("%s after %s, want %s", what, got, want)
					}
				}
				near("ready", ready, c.ready)
				near("not ready", unready, c.unready)
				if n := b.pod("web").Status.ContainerStatuses[0].RestartCount; n != c.restarts {
					t.Errorf("%d restarts, want %d", n, c.restarts)
				}
			})
		})
	}
}

// TestOrphanOfASilentRuntime: a pod is deleted while its kubelet is away, and when the
// kubelet is back the runtime does not answer.
func TestOrphanOfASilentRuntime(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.create(webPod)
		b.waitReady("web")
		b.p.Kill()
		zero := int64(0)
		if err := b.Client().Delete(b.t, client.Pods, "demo", "web", metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
			t.Fatal(err)
		}
		b.rt.Stop()
		b.start()
		b.t.Sleep(5 * time.Second)
		b.rt.Start()
		b.t.Sleep(time.Minute)
		if c, found := b.rt.Find("demo", "web", "app"); found {
			t.Errorf("the pod is deleted, its container is %v", c.State)
		}
	})
}

// TestWhateverHappensConverges: pods come and go, containers and sandboxes are
// killed, kubelet and runtime stop and start, the API server is away; when all is
// well again, what runs is what the API server says.
func TestWhateverHappensConverges(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		run(r, rapid.Uint64().Draw(r, "seed"), func(b *bench) {
			names := []string{"a", "b", "c"}
			for range rapid.IntRange(1, 12).Draw(r, "steps") {
				name := rapid.SampledFrom(names).Draw(r, "name")
				switch rapid.SampledFrom([]string{"create", "delete", "force", "kill", "sandbox", "kubelet", "runtime", "api", "wait"}).Draw(r, "op") {
				case "create":
					if b.pod(name) == nil {
						b.create(strings.Replace(webPod, "web", name, 1))
					}
				case "delete":
					_ = b.Client().Delete(b.t, client.Pods, "demo", name, metav1.DeleteOptions{})
				case "force":
					zero := int64(0)
					_ = b.Client().Delete(b.t, client.Pods, "demo", name, metav1.DeleteOptions{GracePeriodSeconds: &zero})
				case "kill":
					b.rt.KillContainer("demo", name, "", 1, "Error")
				case "sandbox":
					b.rt.KillSandbox("demo", name)
				case "kubelet":
					b.p.Kill()
					b.t.Sleep(time.Duration(rapid.IntRange(0, 20000).Draw(r, "ms")) * time.Millisecond)
					b.start()
				case "runtime":
					b.rt.Stop()
					b.t.Sleep(time.Duration(rapid.IntRange(0, 20000).Draw(r, "ms")) * time.Millisecond)
					b.rt.Start()
				case "api":
					b.SetDown(true)
					b.t.Sleep(time.Duration(rapid.IntRange(0, 20000).Draw(r, "ms")) * time.Millisecond)
					b.SetDown(false)
				case "wait":
					b.t.Sleep(time.Duration(rapid.IntRange(0, 10000).Draw(r, "ms")) * time.Millisecond)
				}
			}
			b.t.Sleep(12 * time.Minute) // longer than every back-off
			for _, name := range names {
				pod := b.pod(name)
				con, found := b.rt.Find("demo", name, "app")
				switch {
				case pod == nil && found:
					r.Fatalf("%s is deleted, but its container is %v\n%s", name, con.State, transcript(b.Events[max(0, len(b.Events)-40):]))
				case pod != nil && (!isReady(pod) || !found || pod.Status.ContainerStatuses[0].ContainerID != "containerd://"+con.ID):
					r.Fatalf("%s: container found %v\n%s\n%s", name, found, summary(pod), transcript(b.Events[max(0, len(b.Events)-40):]))
				}
			}
		})
	})
}

// TestSameSeedSameTrace runs one story twice.
func TestSameSeedSameTrace(t *testing.T) {
	story := func() string {
		return transcript(run(t, 42, func(b *bench) {
			b.create(webPod)
			b.waitReady("web")
			b.rt.KillContainer("demo", "web", "", 1, "Error")
			b.t.Sleep(time.Minute)
			b.delete("web")
			b.t.Sleep(time.Minute)
		}).Events)
	}
	if one, two := story(), story(); one != two || !strings.Contains(one, string(trace.CRICall)) {
		t.Error("two runs of one seed differ")
	}
}

// TestConfigMapsAreWatchedOnce: all pods of a node share one watch of a ConfigMap, which ends
// with the last of them. What changes while no kubelet runs is written by the next one.
func TestConfigMapsAreWatchedOnce(t *testing.T) {
	b := run(t, 1, func(b *bench) {
		cm := &corev1.ConfigMap{Data: map[string]string{"greeting": "good morning"}}
		cm.Name = "settings"
		if _, err := client.Create(b.t, b.Client(), client.ConfigMaps, "demo", cm); err != nil {
			t.Fatal(err)
		}
		change := func(text string) {
			if _, err := b.Client().Patch(b.t, client.ConfigMaps, "demo", "settings", types.MergePatchType, []byte(`{"data":{"greeting":"`+text+`"}}`), ""); err != nil {
				t.Fatal(err)
			}
		}
		names := []string{"a", "b", "c"}
		reads := func(want string) {
			t.Helper()
			for _, name := range names {
				c, _ := b.rt.Find("demo", name, "app")
				got, err := b.rt.Exec(b.t, c.ID, []string{"cat", "/etc/conf/greeting"}, time.Second)
				if err != nil || got.Stdout != want {
					t.Errorf("%s reads %q (%v), want %q", name, got.Stdout, err, want)
				}
			}
		}
		for _, name := range names {
			b.create(`
metadata: {name: ` + name + `}
spec:
  volumes: [{name: conf, configMap: {name: settings}}]
  containers: [{name: app, image: nginx, volumeMounts: [{name: conf, mountPath: /etc/conf/}]}]
`)
			b.waitReady(name)
		}
		reads("good morning")
		if n := b.Requests["watch configmaps"]; n != 1 {
			t.Errorf("%d watches for three pods: %v", n, b.Requests)
		}
		change("good day")
		b.t.Sleep(95 * time.Second)
		reads("good day")
		b.p.Kill()
		change("good evening")
		b.t.Sleep(time.Minute)
		reads("good day")
		b.start()
		b.t.Sleep(20 * time.Second)
		reads("good evening")

		for _, name := range names {
			b.delete(name)
			b.wait("gone", func() bool { return b.pod(name) == nil })
		}
		b.t.Sleep(10 * time.Second)
		before := len(b.Events)
		change("good night")
		b.t.Sleep(10 * time.Second)
		for _, e := range b.Events[before:] {
			if e.Object.Kind == "ConfigMap" && e.Lane.Component == trace.CompKubelet {
				t.Errorf("the kubelet still watches what no pod uses: %s", e.Kind)
			}
		}
	})
	updates := 0
	for _, e := range b.Events {
		if p, ok := e.Payload.(*trace.PodStep); ok && p.What == "volume updated" {
			if updates++; p.Detail != "conf: greeting" || len(e.Causes) == 0 {
				t.Errorf("%+v of %v", p, e.Causes)
			}
		}
	}
	if updates != 6 {
		t.Errorf("%d updates, want two of each pod", updates)
	}
}
