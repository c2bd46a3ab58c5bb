package console_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/console"
	"kviz/cluster/control"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// counting creates a ConfigMap about each second, for watches to see.
func counting(t *sim.Task, c client.Interface) {
	for i := range 100 {
		t.Sleep(900 * 1e6)
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("count-%d", i), Namespace: "default"}}
		if _, err := c.Create(t, client.ConfigMaps, "default", m); err != nil {
			panic(err)
		}
	}
}

// A script has jobs, as in bash: they run while it waits.
func TestJobs(t *testing.T) {
	b := newBench(t, console.Config{}, counting)
	golden(t, "jobs.txt", b.run(t,
		"sleep 5 & echo $!; jobs; sleep 1; jobs -l; wait; jobs; date +%S",
		"kubectl get configmaps -w -o name & kubectl create configmap mine; sleep 2; kill %1; wait %1; echo $?; kubectl create configmap unseen",
		"kubectl get configmaps -w -o name | grep mine & kubectl delete configmap mine; sleep 1; kill %kubectl",
		"(sleep 2; echo two) & { sleep 1; echo one; exit 3; } & wait %2; echo $?; wait $!; echo $?; wait; echo all",
		"for i in 3 1 2; do { sleep $i; echo $i; } & done; wait",
		"for i in 1 2 3; do sleep $i; echo at $i; done & x=outer; sleep 2.5; echo $x; wait",
		"x=1; { x=2; sleep 1; echo inner $x; } & sleep 2; echo outer $x",
		"f() { sleep $1; echo f $1; }; f 2 & f 1 & wait",
		"seq 3 | tac & wait; echo whole | cat",
		"{ sleep 1; echo a; sleep 1; echo b; } | cat & sleep 1.5; echo between; wait",
		"printf 'no end of '; sleep 2 & { sleep 1; printf 'a li'; sleep 2; echo ne; } & sleep 2; echo 'the line'; wait",
		"sh -c 'sleep 2 & sleep 1 & wait; echo within' & sleep 1.5; echo without; wait",
		"(sleep 3; echo late) & (sleep 1 & wait; echo early)",
		"while true; do :; done & sleep 0.01; kill -9 $!; wait $!; echo $?",
		"while true; do kubectl get namespaces -o name | wc -l; done > /dev/null & sleep 1; kill %1; jobs; jobs",
		"false & wait $!",
		"timeout 2s kubectl get namespaces -w -o name & sleep 3; wait $!; echo $?",
		"watch -n 1 -t 'kubectl get configmap unseen -o name' & sleep 1; kubectl delete configmap unseen; sleep 1; kill $!",
		"kubectl get --raw '/api/v1/namespaces?watch=true&timeoutSeconds=1' | wc -l & wait; jobs",
		"etcdutl version & etcdutl version; wait",
		"sleep 100 & disown; jobs; wait; kill %1",
		"sleep 1 & kill -0 $!; echo $?; kill -STOP $!; kill; kill %7 1 x; wait %7; wait 12; jobs -r; kill -l; fg",
		"x=$(sleep 1 & echo hi); echo $x",
		"eval 'sleep 1 &'; trap 'sleep 1 &' EXIT; echo on",
		"coproc cat",
		"f() { sleep 0.1; f & f & }; f 2>/dev/null; sleep 10; wait; echo over",
		"kviz until 'elapsed > 1000' & sleep 1; echo goes on",
		"echo $!",
		"kill %1; jobs; wait; wait 5",
	))
}

// A script does not wait for its jobs: they end with it, and it says so.
func TestJobsEndWithTheirScript(t *testing.T) {
	b := newBench(t, console.Config{})
	var out bytes.Buffer
	err := b.RunScript(t.Context(), "jobs.sh", "sleep 7 &\n(sleep 1; sleep 8) &\nsleep 2\nkubectl get pod none &\nwait $!\n", control.Streams{Out: &out, Err: &out})
	if err == nil || !strings.Contains(err.Error(), "jobs.sh:5: wait 1003: exit status 1") {
		t.Errorf("RunScript gave %v", err)
	}
	const want = `Error from server (NotFound): pods "none" not found
kviz: still in the background, and ended with the script: sleep 7
kviz: still in the background, and ended with the script: (sleep 1; sleep 8)
`
	if out.String() != want {
		t.Errorf("it printed\n%s\nwant\n%s", out.String(), want)
	}
	var left []string
	for pos := range b.stream.Len() {
		if e := b.stream.Get(pos); e.Kind == trace.CommandEnd {
			left = append(left, fmt.Sprintf("%s %s: %d", e.At.Truncate(1e9), e.Payload.(*trace.Command).Line, e.Payload.(*trace.Command).Exit))
		}
	}
	if want := []string{"2s sleep 1: 0", "3s sleep 2: 0", "3s kubectl get pod none: 1", "3s sleep 7: 143", "3s sleep 8: 143"}; !slices.Equal(left, want) {
		t.Errorf("the trace has %q\nwant %q", left, want)
	}
}

// scriptOf draws a script with jobs.
func scriptOf(r *rapid.T, deep int) string {
	seconds := rapid.SampledFrom([]string{"0.1", "0.5", "1", "2"})
	name := rapid.SampledFrom([]string{"a", "b", "c"})
	var lines []string
	for range rapid.IntRange(1, 4).Draw(r, "lines") {
		line := rapid.SampledFrom([]string{
			"sleep " + seconds.Draw(r, "s"),
			"kubectl create configmap " + name.Draw(r, "name"),
			"kubectl delete configmap " + name.Draw(r, "name"),
			"kubectl get configmaps -o name | wc -l",
			"timeout " + seconds.Draw(r, "s") + "s kubectl get configmaps -w -o name",
			"kubectl wait --for=create configmap/" + name.Draw(r, "name") + " --timeout=1s",
			"wait",
			"kill %1",
			"jobs",
			"for i in 1 2 3; do sleep " + seconds.Draw(r, "s") + "; echo $i; done",
		}).Draw(r, "line")
		if deep > 0 && rapid.IntRange(0, 3).Draw(r, "deep") == 0 {
			line = "{\n" + scriptOf(r, deep-1) + "}"
		}
		if rapid.Bool().Draw(r, "job") {
			line += " &"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n") + "\n"
}

// Whatever a script has in the background, it leaves the same trace, and prints the same, every time.
func TestJobsLeaveTheSameTrace(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		script := "set +e\n" + scriptOf(r, 2)
		outcome := func() (string, string) {
			b := newBench(t, console.Config{}, counting)
			var out bytes.Buffer
			_ = b.RunScript(t.Context(), "jobs.sh", script, control.Streams{Out: &out, Err: &out})
			var events []*trace.Event
			for pos := range b.stream.Len() {
				events = append(events, b.stream.Get(pos))
			}
			var text strings.Builder
			if err := trace.Text(&text, events); err != nil {
				r.Fatal(err)
			}
			return out.String(), text.String()
		}
		out, events := outcome()
		outAgain, eventsAgain := outcome()
		if out != outAgain {
			r.Errorf("it printed\n%s\nand then\n%s", out, outAgain)
		}
		if events != eventsAgain {
			same(t, "the trace", events, eventsAgain)
			r.Fatal("the traces differ")
		}
	})
}
