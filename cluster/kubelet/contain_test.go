package kubelet_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/kubelet"
	"kviz/cluster/remote"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// explosive is a way to the API server that panics at what is named after an explosive.
type explosive struct{ client.Interface }

func explode(name, what string) {
	if name == what {
		made := map[string]map[string]int{}
		made[name]["a"] = 1
	}
}

func (e explosive) Get(t *sim.Task, r client.Resource, namespace, name string) (apiruntime.Object, error) {
	explode(t.Name()+" gets "+name, "pod demo/bad-node gets node-1")
	return e.Interface.Get(t, r, namespace, name)
}

func (e explosive) Patch(t *sim.Task, r client.Resource, namespace, name string, pt types.PatchType, data []byte, sub string) (apiruntime.Object, error) {
	explode(name, "bad-status")
	return e.Interface.Patch(t, r, namespace, name, pt, data, sub)
}

// dialer is a network that panics at a name.
type dialer struct{}

func (dialer) Curl(_ *sim.Task, _, _, url string, _ time.Duration) (string, int, string) {
	explode(url, "http://bad")
	return "", 0, ""
}

func (dialer) Connect(*sim.Task, string, string, string, int) (remote.Connection, error) {
	return nil, io.EOF
}
func (dialer) Lookup(*sim.Task, string, string, string) ([]string, error) { return nil, nil }

// program is one that panics when it serves, or in a task of its own.
type program struct{}

func (program) Serve(*sim.Task, *remote.Request) (remote.Answer, error) { panic("cannot serve") }

// A pod at which the kubelet panics is named in the trace and in a Warning, and tried again every ten
// seconds or so; the pods beside it run, and the next kubelet that finds it does the same. A program
// that panics ends its container with exit status 2, and nothing else.
func TestAPanicIsOfOnePod(t *testing.T) {
	b := run(t, 1, func(b *bench) {
		begin := func() {
			b.p = b.Kernel.NewProcess(trace.Lane{Component: trace.CompKubelet, Instance: "node-1"})
			b.kl = kubelet.Start(b.p, explosive{b.Client()}, b.rt, kubelet.Config{Node: "node-1", Address: "192.168.0.11", PodCIDR: "10.244.1.0/24"})
		}
		b.rt.SetDialer(dialer{})
		b.rt.SetProgram("docker.io/library/redis", func(in runtime.Instance) runtime.Program {
			in.Process.Go("work", func(t *sim.Task) { t.Sleep(time.Second); panic("at work") })
			return program{}
		})
		b.rt.SetProgram("docker.io/library/postgres", func(runtime.Instance) runtime.Program { panic("at its start") })
		b.p.Kill()
		begin()
		pod := func(name, spec string) {
			b.create(fmt.Sprintf("metadata: {name: %s}\nspec: {%s}", name, spec))
		}
		pod("bad-node", `nodeSelector: {disk: ssd}, containers: [{name: c, image: "nginx:1.29"}]`)
		pod("bad-status", `containers: [{name: c, image: "nginx:1.29"}]`)
		pod("script", `containers: [{name: c, image: curlimages/curl, command: [sh, -c, "curl http://bad; sleep 1000"]}]`)
		pod("probe", `containers: [{name: c, image: curlimages/curl, command: [sleep, "1000"], readinessProbe: {exec: {command: [curl, "http://bad"]}}}]`)
		pod("ends", `containers: [{name: c, image: redis}]`)
		pod("never", `containers: [{name: c, image: postgres}]`)
		pod("good", `containers: [{name: c, image: "nginx:1.29"}]`)
		b.waitReady("good")
		b.t.Sleep(time.Minute)
		b.p.Kill()
		begin()
		pod("later", `containers: [{name: c, image: "nginx:1.29"}]`)
		b.waitReady("later")
		b.t.Sleep(time.Minute)

		for _, name := range []string{"script", "ends", "never"} {
			c := b.pod(name).Status.ContainerStatuses[0]
			if end := c.LastTerminationState.Terminated; c.RestartCount == 0 || end == nil || end.ExitCode != 2 || end.Reason != "Error" {
				panic(fmt.Sprintf("%s: %+v", name, c))
			}
		}
		if isReady(b.pod("probe")) || b.pod("probe").Status.ContainerStatuses[0].RestartCount > 0 {
			panic("probe")
		}
		// Deleted, they go as others do, but for what nobody can write of.
		for _, name := range []string{"bad-node", "script", "probe", "ends", "never", "good"} {
			b.delete(name, 1)
		}
		b.t.Sleep(time.Minute)
		for _, name := range []string{"bad-node", "script", "probe", "ends", "never", "good"} {
			if b.pod(name) != nil {
				panic(name + " is still there")
			}
		}
	})
	panics, warned := map[string]int{}, map[string]int{}
	for _, e := range b.Events {
		switch p := e.Payload.(type) {
		case *trace.Panicked:
			panics[e.Object.Name+" "+p.Doing]++
		case *trace.KubeEvent:
			if p.Reason == "KubeletPanic" && p.Type == corev1.EventTypeWarning && strings.Contains(p.Message, "kubelet: panic: assignment to entry in nil map (kubelet_test.explode)") {
				warned[p.Regarding.Name]++
			}
		}
	}
	for _, what := range []string{"bad-node the worker of the pod", "bad-status the status of the pod"} {
		name, _, _ := strings.Cut(what, " ")
		if panics[what] < 6 || panics[what] > 25 || warned[name] == 0 {
			t.Errorf("%s: %d panics, %d Warnings", what, panics[what], warned[name])
		}
	}
	for _, what := range []string{"script", "ends", "never"} {
		if n := panics[what+" container c of the pod"]; n < 3 || n > 10 {
			t.Errorf("%s: %d panics of %v", what, n, panics)
		}
	}
}
