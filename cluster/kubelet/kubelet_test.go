package kubelet_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/kubelet"
	"kviz/cluster/registry"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// bench is one node with its kubelet, and an API server in memory.
type bench struct {
	*clienttest.Bench
	t   *sim.Task
	reg *registry.Registry
	rt  *runtime.Runtime
	kl  *kubelet.Kubelet
	p   *sim.Process
}

func run(tb clienttest.T, seed uint64, main func(b *bench)) *clienttest.Bench {
	tb.Helper()
	return clienttest.Run(tb, seed, func(cb *clienttest.Bench, t *sim.Task) {
		b := &bench{Bench: cb, t: t, reg: registry.New(cb.Kernel)}
		b.rt = runtime.New(cb.Kernel, b.reg, runtime.Config{Node: "node-1", PodCIDR: "10.244.1.0/24"})
		b.start()
		t.Sleep(2 * time.Second)
		main(b)
	})
}

// start starts a kubelet, as systemd does.
func (b *bench) start() {
	b.p = b.Kernel.NewProcess(trace.Lane{Component: trace.CompKubelet, Instance: "node-1"})
	b.kl = kubelet.Start(b.p, b.Client(), b.rt, kubelet.Config{Node: "node-1", Address: "192.168.0.11", PodCIDR: "10.244.1.0/24"})
}

// create makes a pod that is already bound to the node.
func (b *bench) create(text string) *corev1.Pod {
	pod := &corev1.Pod{}
	if err := yaml.UnmarshalStrict([]byte(text), pod); err != nil {
		panic(err)
	}
	pod.Namespace, pod.Spec.NodeName = "demo", "node-1"
	if pod.Spec.RestartPolicy == "" {
		pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	made, err := client.Create(b.t, b.Client(), client.Pods, "demo", pod)
	if err != nil {
		panic(err)
	}
	return made
}

func (b *bench) pod(name string) *corev1.Pod {
	pod, _ := b.Object(client.Pods, "demo", name).(*corev1.Pod)
	return pod
}

func (b *bench) delete(name string, grace ...int64) {
	opts := metav1.DeleteOptions{}
	if len(grace) > 0 {
		opts.GracePeriodSeconds = &grace[0]
	}
	if err := b.Client().Delete(b.t, client.Pods, "demo", name, opts); err != nil {
		panic(err)
	}
}

// wait waits until the condition holds, at most a virtual hour.
func (b *bench) wait(what string, cond func() bool) {
	for range 36000 {
		if cond() {
			return
		}
		b.t.Sleep(100 * time.Millisecond)
	}
	panic("not within an hour: " + what)
}

func (b *bench) waitReady(name string) {
	b.wait(name+" ready", func() bool { return isReady(b.pod(name)) })
}

func isReady(pod *corev1.Pod) bool {
	if pod == nil {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// transcript is what happened after the events of before, one line each: what
// the kubelet decided, what it asked of the runtime, what the runtime did, and
// what the API server heard.
func transcript(events []*trace.Event) string {
	var out strings.Builder
	for _, e := range events {
		if line := say(e); line != "" {
			fmt.Fprintf(&out, "%9.3fs  %-15s %s\n", e.At.Seconds(), e.Lane, line)
		}
	}
	return out.String()
}

func say(e *trace.Event) string {
	switch p := e.Payload.(type) {
	case *trace.PodSync:
		return strings.TrimSpace(fmt.Sprintf("%s %s %s: %s %s", e.Kind, p.Pod, p.Work, p.Reason, p.Note))
	case *trace.PodStep:
		s := fmt.Sprintf("%s %s %s %s %s", e.Kind, p.Pod, p.Container, p.What, p.Detail)
		if p.For > 0 {
			s += fmt.Sprintf(" (for %s)", p.For)
		}
		return strings.Join(strings.Fields(s), " ")
	case *trace.RuntimeCall:
		s := fmt.Sprintf("%s %s %s %s", e.Kind, p.Call, p.Container, p.Arg)
		if p.Result != "" {
			s += " -> " + p.Result
		}
		if p.Error != "" {
			s += " ! " + p.Error
		}
		return strings.Join(strings.Fields(s), " ")
	case *trace.ContainerState:
		s := fmt.Sprintf("%s %s %s", e.Kind, p.Container, p.State)
		if p.State == "terminated" {
			s += fmt.Sprintf(" %s exit %d", p.Reason, p.ExitCode)
		}
		return s + fmt.Sprintf(" (restarts %d)", p.Restarts)
	case *trace.Probe:
		return fmt.Sprintf("%s %s %s ok=%v %d/%d %s", e.Kind, p.Container, p.Probe, p.OK, p.Failures, p.Threshold, p.Output)
	case *trace.KubeEvent:
		return fmt.Sprintf("Event %s %s: %s", p.Type, p.Reason, p.Message)
	case *trace.NodeReport:
		return fmt.Sprintf("%s Ready=%s %s", e.Kind, p.Ready, p.Note)
	}
	return ""
}

// statuses lists how a pod's status moved, as the API server stored it.
func summary(pod *corev1.Pod) string {
	var out strings.Builder
	s := &pod.Status
	fmt.Fprintf(&out, "phase %s", s.Phase)
	if s.Reason != "" {
		fmt.Fprintf(&out, " (%s: %s)", s.Reason, s.Message)
	}
	fmt.Fprintf(&out, "\nhostIP %s podIP %s qosClass %s\n", s.HostIP, s.PodIP, s.QOSClass)
	for _, c := range s.Conditions {
		fmt.Fprintf(&out, "condition %s %s %s %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	for _, list := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for _, c := range list {
			fmt.Fprintf(&out, "container %s ready=%v started=%v restarts=%d %s last=%s\n", c.Name, c.Ready, c.Started != nil && *c.Started, c.RestartCount, state(c.State), state(c.LastTerminationState))
		}
	}
	return out.String()
}

func state(s corev1.ContainerState) string {
	switch {
	case s.Running != nil:
		return "running"
	case s.Waiting != nil:
		return strings.TrimSpace("waiting " + s.Waiting.Reason + " " + s.Waiting.Message)
	case s.Terminated != nil:
		return fmt.Sprintf("terminated %s exit %d", s.Terminated.Reason, s.Terminated.ExitCode)
	}
	return "-"
}

func TestPodRuns(t *testing.T) {
	var status string
	b := run(t, 1, func(b *bench) {
		b.create(`
metadata: {name: web}
spec:
  containers:
  - {name: nginx, image: "nginx:1.29", ports: [{containerPort: 80}]}
  - {name: log, image: busybox, imagePullPolicy: Always, command: [sleep, "3600"]}
`)
		b.waitReady("web")
		b.t.Sleep(30 * time.Second)
		status = summary(b.pod("web"))
	})
	clienttest.Golden(t, "runs.txt", "# A pod with two containers, from its binding to Ready: admission, sandbox (CNI inside),\n# then for each container image, create, start.\n"+transcript(b.Events)+"\n"+status)
}

// scenario is a story about one pod: what is created, what is done, and the
// transcript it must give.
type scenario struct {
	name, about string
	pod         string
	quiet       []trace.Kind // kinds left out of the transcript
	before      func(b *bench)
	then        func(b *bench)
}

var scenarios = []scenario{
	{
		name: "crashloop", about: "A container that exits 1 after two seconds: restarts after 0 s, 10 s, 20 s, 40 s … as CrashLoopBackOff says.",
		pod: `
metadata: {name: web}
spec:
  containers: [{name: app, image: kviz/crash}]
`,
		quiet: []trace.Kind{trace.PodAdmit, trace.VolumesMounted, trace.CNICall},
		then:  func(b *bench) { b.t.Sleep(100 * time.Second) },
	},
	{
		name: "image-missing", about: "An image that does not exist: ErrImagePull, then ImagePullBackOff, 10 s, 20 s, …",
		pod: `
metadata: {name: web}
spec:
  containers: [{name: app, image: "nginx:nosuch"}]
`,
		then: func(b *bench) { b.t.Sleep(40 * time.Second) },
	},
	{
		name: "init", about: "Init containers one after another, each image pulled when its turn comes; the second fails once and is tried again.",
		pod: `
metadata: {name: web}
spec:
  initContainers:
  - {name: first, image: busybox, imagePullPolicy: IfNotPresent, command: [sh, -c, "echo one; sleep 1"]}
  - {name: second, image: busybox, imagePullPolicy: IfNotPresent, command: [sh, -c, "test -f /tmp/x || exit 3"]}
  containers: [{name: app, image: nginx}]
`,
		then: func(b *bench) { b.t.Sleep(25 * time.Second) },
	},
	{
		name: "terminate", about: "Deletion: preStop, TERM, and the container ends in time; sandbox and CNI DEL; the final delete.",
		pod: `
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 30
  containers:
  - {name: app, image: nginx, lifecycle: {preStop: {exec: {command: [sleep, "5"]}}}}
`,
		then: func(b *bench) {
			b.waitReady("web")
			b.delete("web")
			b.wait("gone", func() bool { return b.pod("web") == nil })
			b.t.Sleep(time.Second)
		},
	},
	{
		name: "terminate-kill", about: "Deletion of a container whose PID 1 ignores TERM (sleep has no handler): KILL after the grace period.",
		pod: `
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 10
  containers: [{name: app, image: busybox, command: [sleep, infinity]}]
`,
		then: func(b *bench) {
			b.waitReady("web")
			b.delete("web")
			b.wait("gone", func() bool { return b.pod("web") == nil })
			b.t.Sleep(time.Second)
		},
	},
	{
		name: "completes", about: "restartPolicy OnFailure: exit 1 is tried again, exit 0 completes the pod; the sandbox goes, the containers stay for their logs.",
		pod: `
metadata: {name: web}
spec:
  restartPolicy: OnFailure
  containers: [{name: app, image: busybox, command: [sh, -c, "sleep 3; exit $((1 - 1))"]}]
`,
		then: func(b *bench) { b.t.Sleep(10 * time.Second) },
	},
	{
		name: "configmap", about: "A volume from a ConfigMap that does not exist yet keeps the pod in ContainerCreating.",
		pod: `
metadata: {name: web}
spec:
  volumes: [{name: conf, configMap: {name: settings}}]
  containers:
  - {name: app, image: busybox, command: [sh, -c, "cat /etc/conf/greeting; sleep 9"], volumeMounts: [{name: conf, mountPath: /etc/conf}]}
`,
		then: func(b *bench) {
			b.t.Sleep(5 * time.Second)
			cm := &corev1.ConfigMap{Data: map[string]string{"greeting": "good morning\n"}}
			cm.Name = "settings"
			if _, err := client.Create(b.t, b.Client(), client.ConfigMaps, "demo", cm); err != nil {
				panic(err)
			}
			b.waitReady("web")
			c, _ := b.rt.Find("demo", "web", "app")
			lines, err := b.rt.Logs(c.ID)
			if err != nil || len(lines) != 1 || lines[0].Text != "good morning" {
				panic(fmt.Sprint("log of app: ", lines, err))
			}
		},
	},
	{
		name: "liveness", about: "The liveness example of the Kubernetes documentation: /tmp/healthy is removed after 30 s, three failures later the container restarts.",
		pod: `
metadata: {name: web}
spec:
  containers:
  - name: liveness
    image: registry.k8s.io/busybox
    args: [/bin/sh, -c, "touch /tmp/healthy; sleep 30; rm -f /tmp/healthy; sleep 600"]
    livenessProbe: {exec: {command: [cat, /tmp/healthy]}, initialDelaySeconds: 5, periodSeconds: 5, failureThreshold: 3, successThreshold: 1, timeoutSeconds: 1}
    
`,
		then: func(b *bench) { b.t.Sleep(80 * time.Second) },
	},
	{
		name: "oversized", about: "A pod bound by hand that does not fit: the kubelet refuses it, and it is Failed for good.",
		pod: `
metadata: {name: web}
spec:
  containers: [{name: app, image: nginx, resources: {requests: {cpu: "5"}}}]
`,
		then: func(b *bench) { b.t.Sleep(5 * time.Second) },
	},
	{
		name: "labelled", about: "A node selector that means a label somebody gave the node after it registered: the kubelet asks the API server before it refuses.",
		pod: `
metadata: {name: web}
spec:
  nodeSelector: {disk: ssd}
  containers: [{name: app, image: nginx}]
`,
		before: func(b *bench) {
			if _, err := b.Client().Patch(b.t, client.Nodes, "", "node-1", types.MergePatchType, []byte(`{"metadata":{"labels":{"disk":"ssd"}}}`), ""); err != nil {
				panic(err)
			}
		},
		then: func(b *bench) { b.waitReady("web") },
	},
	{
		name: "misplaced", about: "A pod bound by hand to a node that its node selector does not mean: refused.",
		pod: `
metadata: {name: web}
spec:
  nodeSelector: {disk: ssd}
  containers: [{name: app, image: nginx}]
`,
		then: func(b *bench) { b.t.Sleep(5 * time.Second) },
	},
	{
		name: "own-restart-policy", about: "Containers whose own policies and rules decide, not the pod's, which is Never: they start again for some exit codes.",
		pod: `
metadata: {name: web}
spec:
  restartPolicy: Never
  volumes: [{name: work, emptyDir: {}}]
  containers:
  - {name: retried, image: busybox, restartPolicy: OnFailure, volumeMounts: [{name: work, mountPath: /work}], command: [sh, -c, "if [ -f /work/first ]; then exit 0; fi; touch /work/first; exit 1"]}
  - {name: ruled, image: busybox, restartPolicy: Never, volumeMounts: [{name: work, mountPath: /work}], command: [sh, -c, "if [ -f /work/second ]; then exit 3; fi; touch /work/second; exit 42"],
     restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]}
`,
		then: func(b *bench) { b.t.Sleep(time.Minute) },
	},
	{
		name: "port-taken", about: "A pod bound by hand that asks for a port of the node which another pod has: refused.",
		pod: `
metadata: {name: web}
spec:
  containers: [{name: app, image: nginx, ports: [{containerPort: 80, hostPort: 8080}]}]
`,
		before: func(b *bench) {
			b.create(`
metadata: {name: first}
spec:
  containers: [{name: app, image: nginx, ports: [{containerPort: 80, hostPort: 8080, hostIP: 127.0.0.1}]}]
`)
			b.waitReady("first")
		},
		then: func(b *bench) { b.t.Sleep(5 * time.Second) },
	},
	{
		name: "sidecar-unprobed", about: "A sidecar without a startup probe: the next container starts as soon as it runs.",
		pod: `
metadata: {name: web}
spec:
  initContainers:
  - {name: first, image: busybox, command: [sh, -c, "sleep 1"]}
  - {name: mesh, image: nginx, restartPolicy: Always}
  containers: [{name: app, image: httpd}]
`,
		then: func(b *bench) { b.waitReady("web") },
	},
	{
		name: "ends-during-sync", about: "A container that ends while the kubelet still pulls the next one's image is not forgotten.",
		pod: `
metadata: {name: web}
spec:
  containers:
  - {name: brief, image: busybox, command: [sh, -c, "exit 1"]}
  - {name: slow, image: nginx}
`,
		then: func(b *bench) { b.t.Sleep(20 * time.Second) },
	},
	{
		name: "sandbox-killed", about: "The pause container is killed: the whole pod starts anew with a new address.",
		pod: `
metadata: {name: web}
spec:
  containers: [{name: app, image: nginx}]
`,
		then: func(b *bench) {
			b.waitReady("web")
			b.rt.KillSandbox("demo", "web")
			b.t.Sleep(5 * time.Second)
		},
	},
	{
		name: "sidecar", about: "A sidecar (init container with restartPolicy Always) starts before the container and stops after it.",
		pod: `
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 5
  initContainers: [{name: mesh, image: nginx, restartPolicy: Always, startupProbe: {httpGet: {path: /, port: 80}, periodSeconds: 1, failureThreshold: 30}}]
  containers: [{name: app, image: httpd}]
`,
		then: func(b *bench) {
			b.waitReady("web")
			b.delete("web")
			b.wait("gone", func() bool { return b.pod("web") == nil })
		},
	},
}

func TestScenarios(t *testing.T) {
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			var status string
			b := run(t, 1, func(b *bench) {
				if sc.before != nil {
					sc.before(b)
				}
				b.create(sc.pod)
				sc.then(b)
				if pod := b.pod("web"); pod != nil {
					status = summary(pod)
				} else {
					status = "the pod is gone\n"
				}
			})
			var events []*trace.Event
			for _, e := range b.Events {
				keep := e.At >= 2*time.Second && e.Kind != trace.NodeStatus
				for _, q := range sc.quiet {
					keep = keep && e.Kind != q
				}
				if keep {
					events = append(events, e)
				}
			}
			clienttest.Golden(t, sc.name+".txt", "# "+sc.about+"\n#"+strings.ReplaceAll(strings.TrimRight(sc.pod, " \n"), "\n", "\n#   ")+"\n\n"+transcript(events)+"\n"+status)
		})
	}
}
