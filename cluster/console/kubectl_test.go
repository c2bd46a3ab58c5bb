package console_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/console"
	"kviz/cluster/control"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// The commands of the first hours with Kubernetes, against the API server
// alone. The files under testdata are what a person would see.
func TestKubectl(t *testing.T) {
	for _, story := range []struct {
		name  string
		lines []string
	}{
		{"read", []string{
			`kubectl version`,
			`kubectl api-resources`,
			`kubectl api-versions`,
			`kubectl get ns`,
			`kubectl get namespace default -o yaml`,
			`kubectl get ns -o name | grep kube | sort`,
			`kubectl get ns -o jsonpath='{.items[*].metadata.name}'`,
			`kubectl get svc -A -o wide`,
			`kubectl get pods`,
			`kubectl get pods,svc -n nowhere`,
			`kubectl get pod nothing`,
			`kubectl get nothings`,
			`kubectl gett pods`,
			`kubectl get pods --selectr x`,
			`kubectl get --raw /readyz`,
			`kubectl cluster-info`,
			`kubectl explain pod.spec.restartPolicy`,
			`kubectl edit ns default`,
			`kubectl drain --help | head -n 1; kubectl get --watch --help | head -n 1; kubectl delete -h | head -n 1`,
			`kubectl config view`,
		}},
		{"raw-watch", []string{
			`kubectl create configmap a --from-literal=v=1`,
			`kubectl get --raw '/api/v1/namespaces/default/configmaps?watch=1'`,
			`kubectl get --raw '/api/v1/namespaces/default/configmaps?watch=1&allowWatchBookmarks=true&timeoutSeconds=70&fieldSelector=metadata.name%3Da'`,
			`kubectl get --raw '/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=1&timeoutSeconds=5'`,
		}},
		{"write", []string{
			`kubectl apply -f manifests/hello.yaml`,
			`kubectl apply -f manifests/hello.yaml`,
			`kubectl get deploy,svc -n demo`,
			`kubectl get deploy -n demo -o wide`,
			`kubectl config set-context --current --namespace=demo`,
			`kubectl get deploy hello-deploy -o yaml`,
			`kubectl scale deploy hello-deploy --replicas=3`,
			`kubectl label deploy hello-deploy tier=web`,
			`kubectl annotate deploy hello-deploy note=first`,
			`kubectl set image deploy/hello-deploy hello=nginx:1.27`,
			`kubectl patch deploy hello-deploy -p '{"spec":{"minReadySeconds":5}}'`,
			`kubectl patch deploy hello-deploy --type=json -p '[{"op":"replace","path":"/spec/replicas","value":1}]'`,
			`kubectl rollout pause deploy/hello-deploy`,
			`kubectl rollout resume deploy/hello-deploy`,
			`kubectl diff -f manifests/deployment.yaml`,
			`kubectl get deploy hello-deploy -o jsonpath='{.spec.replicas} {.spec.template.spec.containers[0].image} {.metadata.generation}'`,
			`kubectl expose deploy hello-deploy --name=second --port=8080 --target-port=80`,
			`kubectl create deployment other --image=nginx --replicas=2`,
			`kubectl create configmap settings --from-literal=colour=blue`,
			`kubectl get cm settings -o jsonpath='{.data.colour}'`,
			`kubectl create secret generic key --from-literal=password=x`,
			`kubectl run lone --image=nginx`,
			`kubectl get pods`,
			`kubectl describe svc hello-svc`,
			`kubectl delete deploy other`,
			`kubectl get deploy`,
			`kubectl apply -f manifests/helo.yaml`,
		}},
		{"wrong", []string{
			`cat <<EOF | kubectl apply -f -
apiVersion: apps/v1
kind: Deployment
metadata: {name: bad}
spec:
  replicass: 2
EOF`,
			`cat <<EOF | kubectl create -f -
apiVersion: v1
kind: Pod
metadata: {name: Bad_Name}
spec:
  containers: []
EOF`,
			`echo 'kind: [' | kubectl apply -f -`,
			`kubectl apply -f https://example.com/x.yaml`,
			`kubectl create ns demo`,
			`kubectl create ns demo`,
			`kubectl run x --image=nginx -n nowhere`,
			`kubectl scale deploy nothing --replicas=1`,
			`kubectl delete pod nothing`,
			`kubectl --as=nobody get pods`,
			`kubectl auth can-i create pods`,
			`kubectl auth can-i create pods --as=nobody`,
			`kubectl auth whoami`,
		}},
		{"server-side", []string{
			`kubectl create ns demo`,
			`kubectl apply --server-side -f manifests/deployment.yaml`,
			`kubectl apply --server-side -f manifests/deployment.yaml`,
			`kubectl scale deploy hello-deploy -n demo --replicas=5`,
			`kubectl apply --server-side -f manifests/deployment.yaml`,
			`kubectl apply --server-side --force-conflicts -f manifests/deployment.yaml`,
			`kubectl get deploy hello-deploy -n demo -o jsonpath='{.spec.replicas}'`,
			`kubectl get deploy hello-deploy -n demo -o yaml --show-managed-fields | grep manager:`,
		}},
		{"nodes", []string{
			`cat <<EOF | kubectl create -f -
apiVersion: v1
kind: Node
metadata: {name: node-1}
EOF`,
			`kubectl get nodes`,
			`kubectl taint node node-1 dedicated=gpu:NoSchedule`,
			`kubectl cordon node-1`,
			`kubectl get nodes -o wide`,
			`kubectl describe node node-1`,
			`kubectl uncordon node-1`,
			`kubectl taint node node-1 dedicated-`,
			`kubectl get node node-1 -o jsonpath='{.spec}'`,
		}},
	} {
		t.Run(story.name, func(t *testing.T) {
			b := newBench(t, console.Config{})
			golden(t, "kubectl-"+story.name+".txt", anyMachine(b.run(t, story.lines...)))
		})
	}
}

// anyMachine takes out what depends on the machine the test runs on.
func anyMachine(s string) string {
	s = regexp.MustCompile(`go1\.[0-9.]+`).ReplaceAllString(s, "go1.x")
	return s
}

// appear is an actor that brings a pod to life a while after it was created.
func appear(after time.Duration) actor {
	return func(t *sim.Task, c client.Interface) {
		w, err := c.Watch(t, client.Pods, "", metav1.ListOptions{})
		if err != nil {
			panic(err)
		}
		for {
			e, ok := w.Recv(t)
			if !ok {
				return
			}
			if e.Type != "ADDED" {
				continue
			}
			t.SetCauses(e.ID)
			pod := e.Object.(*corev1.Pod).DeepCopy()
			t.Sleep(after)
			pod.Status.Phase = corev1.PodRunning
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			if _, err := c.Update(t, client.Pods, pod.Namespace, pod, "status"); err != nil {
				panic(err)
			}
		}
	}
}

func TestWaiting(t *testing.T) {
	b := newBench(t, console.Config{}, appear(20*time.Second))
	golden(t, "waiting.txt", b.run(t,
		`kubectl run web --image=nginx`,
		`kubectl wait pod/web --for=condition=Ready --timeout=5s`,
		`kubectl get pods`,
		`kubectl wait pod/web --for=condition=Ready --timeout=60s`,
		`kubectl get pods`,
		`kubectl wait --for=create cm/late --timeout=3s`,
		`kubectl wait --for=delete pod/web --timeout=2s`,
		`timeout 10s kubectl get pods --watch`,
		`kubectl get pods --watch`,
		`kubectl delete pod web --grace-period=0 --force`,
		`kubectl get pods`,
	))
}

// What decides a script's trace is the seed and the script, not how fast the
// machine is or how kubectl's goroutines interleave.
func TestTheSameScriptGivesTheSameTrace(t *testing.T) {
	script := filepath.Join(t.TempDir(), "same.sh")
	text := `kubectl apply -f manifests/hello.yaml
kubectl run web --image=nginx -n demo
kubectl wait pod/web -n demo --for=condition=Ready --timeout=60s
kubectl get all -n demo
kubectl describe pod web -n demo
sleep 3
kubectl scale deploy hello-deploy -n demo --replicas=5
kubectl delete pod web -n demo --force --grace-period=0
`
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	once := func() (string, string) {
		b := newBench(t, console.Config{}, appear(7*time.Second))
		var out bytes.Buffer
		if err := b.RunFile(context.Background(), script, control.Streams{Out: &out, Err: &out}); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		var lines strings.Builder
		for pos := uint64(0); pos < b.stream.Len(); pos++ {
			if e := b.stream.Get(pos); !e.Outside() {
				fmt.Fprintf(&lines, "%s %s %s %s %s %v\n", e.ID, e.At, e.Lane, e.Kind, e.Object, e.Causes)
			}
		}
		return lines.String(), out.String()
	}
	trace1, out1 := once()
	for range 4 {
		trace2, out2 := once()
		if out1 != out2 {
			t.Fatalf("the output differs:\n%s\n---\n%s", out1, out2)
		}
		if trace1 != trace2 {
			a, b := strings.Split(trace1, "\n"), strings.Split(trace2, "\n")
			for i := range a {
				if i >= len(b) || a[i] != b[i] {
					t.Fatalf("the traces part at line %d:\n%s\n%s", i, a[i], b[min(i, len(b)-1)])
				}
			}
			t.Fatal("one trace is longer")
		}
	}
	if strings.Count(trace1, string(trace.RequestReceived)) < 10 {
		t.Fatalf("the script made few requests:\n%s", trace1)
	}
}

// A command that is given up leaves nothing behind: time stands still again.
func TestGivingUpAWait(t *testing.T) {
	b := newBench(t, console.Config{})
	b.run(t, `kubectl run web --image=nginx`)
	ctx, cancel := context.WithCancel(context.Background())
	started := &signal{ch: make(chan struct{})}
	done := make(chan int)
	go func() {
		done <- b.Exec(ctx, "kubectl get pods --watch", control.Streams{Out: started, Err: started, Source: "console"})
	}()
	<-started.ch
	cancel()
	if exit := <-done; exit == 0 {
		t.Error("a watch that was given up ended with status 0")
	}
	var before, after time.Duration
	_ = b.kernel.Do(func() {})
	_ = b.kernel.Do(func() { before = b.kernel.Elapsed() })
	b.run(t, "echo")
	_ = b.kernel.Do(func() { after = b.kernel.Elapsed() })
	if before != after {
		t.Errorf("time went on from %s to %s though nobody waits", before, after)
	}
}

// Who watches sees what changes while it changes, whoever changes it, and not only at
// the command's end.
func TestWatchingAsItComes(t *testing.T) {
	b := newBench(t, console.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	out, lines := io.Pipe()
	done := make(chan int, 1)
	go func() {
		defer lines.Close()
		done <- b.Exec(ctx, "kubectl get configmaps -w --output-watch-events --no-headers", control.Streams{Out: lines, Err: io.Discard, Source: "console"})
	}()
	told := bufio.NewScanner(out)
	for _, step := range [][2]string{
		{"kubectl create configmap a", "ADDED a"},
		{"kubectl label configmap a x=y", "MODIFIED a"},
		{"kubectl label configmap a x=z --overwrite", "MODIFIED a"},
		{"kubectl delete configmap a", "DELETED a"},
		{"kubectl create configmap a", "ADDED a"},
	} {
		b.run(t, step[0]+"\nsleep 1") // time passes for the event, too
		if !told.Scan() {
			t.Fatalf("%s: the watch has ended", step[0])
		}
		if words := strings.Fields(told.Text()); strings.Join(words[:2], " ") != step[1] {
			t.Errorf("%s: told %q, want %q", step[0], told.Text(), step[1])
		}
	}
	cancel()
	if exit := <-done; exit != 130 {
		t.Errorf("a watch that was given up ended with status %d", exit)
	}
}

// signal closes ch at the first write.
type signal struct {
	ch   chan struct{}
	done bool
}

func (s *signal) Write(p []byte) (int, error) {
	if !s.done {
		s.done = true
		close(s.ch)
	}
	return len(p), nil
}

// A session of a day has thousands of commands. Each builds kubectl's whole command tree,
// and none of them may stay.
func TestACommandLeavesNothingInMemory(t *testing.T) {
	b := newBench(t, console.Config{})
	after := func(commands int) int64 {
		for range commands {
			if got := b.typed(nil, "kubectl create configmap a --dry-run=client -o name"); got != "configmap/a" {
				t.Fatalf("it said %q", got)
			}
		}
		runtime.GC()
		runtime.GC() // what the first only finalized
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const commands = 40
	before := after(5)
	if each := (after(commands) - before) / commands; each > 64<<10 {
		t.Errorf("each command leaves %d KiB behind", each>>10)
	}
}
