package console_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kviz/cluster/console"
	"kviz/cluster/console/command"
	"kviz/cluster/control"
	"kviz/cluster/trace"
)

// The shell and its tools, without a request to the cluster.
func TestShell(t *testing.T) {
	b := newBench(t, console.Config{})
	golden(t, "shell.txt", b.run(t,
		`echo hello | tr l L`,
		`for i in $(seq 3); do echo "line $i"; done | grep -v 2 | wc -l`,
		`x=demo; echo "namespace $x"`,
		`echo "still $x"`,
		`cat <<EOF | sort -r | head -2
b
a
c
EOF`,
		`printf 'a 10\nb 9\nc 100\n' | sort -k 2 -n | cut -d ' ' -f 1`,
		`printf 'a\na\nb\n' | uniq -c`,
		`if test 2 -gt 1; then echo yes; fi`,
		`false`,
		`echo done | grep -c nothing`,
		`kubctl get pods`,
		`seq 40 | base64 -w 20 | head -2`,
		`echo x | base64 -w wide`,
		`seq 40 | base64 -w 0 | base64 -d | tail -1`,
		`printf '%0100d' 0 | hexdump -C`,
		`printf '%0100d' 0 | hexdump -C -v | wc -l`,
		`echo x | xxd -l 12abc`,
		`vim`,
		`ls manifests/authn`,
		`ls manifests/hello.yaml nowhere`,
		`echo abcdef | head -c 3`,
		`head -c some`,
		`echo abcdef | cut -c 2-3,5`,
		`echo a:b:c:d | cut -d : -f 3-`,
		`echo a | cut -f 0`,
		`kviz help | grep -c ' kviz '`,
		`help | grep 'kubectl  '`,
		`help true | head -1`,
		`grep -z x`,
		`sleep 5 &`,
		`sleep soon`,
		`date; sleep 90; date`,
		`kviz`,
		`kviz endpoints`,
		`kviz stauts`,
		`kviz fault stop store/a`,
		`kviz speed fast`,
		`kviz fault sotp member/a`,
		`kviz fault explode member/a`,
		`kviz fault stop member/c`,
		`kviz until x == 1`,
		`timeout 3s sleep 10`,
	))
}

// The words that a line is completed with are commands that there are, and none that is
// refused.
func TestWordsAreCommands(t *testing.T) {
	b := newBench(t, console.Config{})
	after := map[string][]control.Word{}
	for _, w := range b.Words() {
		after[w.Name] = w.Next
		if w.Name != "help" && !slices.Contains(b.Commands(), w.Name) {
			t.Errorf("%s is no command", w.Name)
		}
	}
	has := func(words []control.Word, name string) bool {
		return slices.ContainsFunc(words, func(w control.Word) bool { return w.Name == name })
	}
	for _, c := range []struct {
		command, word string
		want          bool
	}{
		{"kubectl", "get", true},
		{"kubectl", "rollout", true},
		{"kubectl", "port-forward", false},
		{"kubectl", "debug", false},
		{"kviz", "until", true},
		{"kviz", "help", true},
		{"etcdutl", "snapshot", true},
	} {
		if has(after[c.command], c.word) != c.want {
			t.Errorf("%s %s is offered: %v", c.command, c.word, !c.want)
		}
	}
	if i := slices.IndexFunc(after["kubectl"], func(w control.Word) bool { return w.Name == "config" }); i < 0 || len(after["kubectl"][i].Next) != 1 {
		t.Error("of kubectl config set-context alone is there")
	}
}

func TestACommandIsTheCauseOfItsRequests(t *testing.T) {
	b := newBench(t, console.Config{})
	b.run(t, "kubectl get namespaces")
	var command, done *trace.Event
	requests := 0
	for pos := uint64(0); pos < b.stream.Len(); pos++ {
		switch e := b.stream.Get(pos); {
		case e.Kind == trace.CommandStart:
			command = e
		case e.Kind == trace.RequestReceived && command != nil && done == nil:
			requests++
			if len(e.Causes) != 1 || e.Causes[0] != command.ID {
				t.Errorf("request #%s has causes %v, want #%s", e.ID, e.Causes, command.ID)
			}
		case e.Kind == trace.CommandEnd:
			done = e
		}
	}
	if command == nil || done == nil || requests != 1 {
		t.Fatalf("command %v, done %v, %d requests; want one of each", command, done, requests)
	}
	if c := done.Payload.(*trace.Command); c.Line != "kubectl get namespaces" || c.Exit != 0 || !strings.Contains(c.Output, "kube-system") {
		t.Errorf("console.done says %+v", c)
	}
}

// The commands of a pipeline run side by side. What they write comes out whole,
// and when several fail it is always the last one that is named.
func TestAPipelineFailsByItsLastCommand(t *testing.T) {
	b := newBench(t, console.Config{})
	for range 20 {
		var out bytes.Buffer
		err := b.RunScript(t.Context(), "pipe.sh", "kubectl get pod none | grep -c nothing | grep something\n", control.Streams{Out: &out, Err: &out})
		var failed *console.ScriptError
		if !errors.As(err, &failed) || failed.Words != "grep something" {
			t.Fatalf("RunScript gave %v\n%s", err, out.String())
		}
	}
}

func TestScriptStopsAtTheFirstFailure(t *testing.T) {
	b := newBench(t, console.Config{})
	path := filepath.Join(t.TempDir(), "script.sh")
	script := "# a comment\necho one\nif false; then echo never; fi\nkubectl get pod nothing || echo tolerated\n\nfor i in 1 2; do\n  kubectl get pod missing\ndone\necho two\n"
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := b.RunFile(context.Background(), path, control.Streams{Out: &out, Err: &out})
	var failed *console.ScriptError
	if !errors.As(err, &failed) {
		t.Fatalf("RunFile gave %v, want a *ScriptError\n%s", err, out.String())
	}
	if failed.Line != 7 || failed.Exit != 1 || failed.Words != "kubectl get pod missing" || failed.Event.IsZero() {
		t.Errorf("%+v", failed)
	}
	if want := `exit status 1 (event #`; !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `pods "missing" not found`) {
		t.Errorf("error %q", err)
	}
	if got := out.String(); strings.Contains(got, "two") || !strings.Contains(got, "one") || !strings.Contains(got, "tolerated") {
		t.Errorf("output:\n%s", got)
	}
}

func TestPausedClusterInAScript(t *testing.T) {
	b := newBench(t, console.Config{})
	golden(t, "paused.txt", b.run(t,
		`kviz pause`,
		`kviz status`,
		`kubectl get pods`,
		`kviz resume`,
		`kubectl get pods`,
	))
}

// A request that finds the cluster paused waits where it can be seen, and goes
// on when the cluster does.
func TestRequestWaitsWhilePaused(t *testing.T) {
	b := newBench(t, console.Config{})
	b.run(t, "kviz pause")
	var out bytes.Buffer
	done := make(chan int)
	go func() {
		done <- b.Exec(context.Background(), "kubectl get pods", control.Streams{Out: &out, Err: &out, Source: "console"})
	}()
	changed, stop := b.stream.Notify()
	defer stop()
	waiting := func() *trace.Event {
		for pos := uint64(0); pos < b.stream.Len(); pos++ {
			if e := b.stream.Get(pos); e.Kind == trace.RequestWaiting {
				return e
			}
		}
		return nil
	}
	for waiting() == nil {
		select {
		case <-changed:
		case exit := <-done:
			t.Fatalf("the command ended with %d while the cluster is paused: %s", exit, out.String())
		}
	}
	if r := waiting().Payload.(*trace.Request); r.Resource != "pods" || r.Verb != "list" || r.Client != "kubectl" {
		t.Errorf("api.waiting says %+v", r)
	}
	if err := b.kernel.Do(b.kernel.Resume); err != nil {
		t.Fatal(err)
	}
	if exit := <-done; exit != 0 || !strings.Contains(out.String(), "No resources found") {
		t.Errorf("exit %d: %s", exit, out.String())
	}
}

// typed runs a line that can be put behind, and gives what it printed.
func (b *bench) typed(behind <-chan struct{}, line string) string {
	var out bytes.Buffer
	b.Exec(context.Background(), line, control.Streams{Out: &out, Err: &out, Source: "console", Behind: behind})
	return strings.TrimSpace(out.String())
}

// A line or a script that is nested without end is refused, and the process is still there for the next.
func TestNothingIsNestedTooDeep(t *testing.T) {
	b := newBench(t, console.Config{})
	deep := strings.Repeat("(", 1_000_000)
	if got := b.typed(make(chan struct{}), deep); !strings.Contains(got, "nested too deep") {
		t.Errorf("a line: %.200q", got)
	}
	if err := b.RunScript(t.Context(), "deep.sh", "echo one\n"+deep, control.Streams{}); err == nil || !strings.Contains(err.Error(), "nested too deep") {
		t.Errorf("a script: %v", err)
	}
	for _, line := range []string{"f() { f; }; f", "f() { g; }; g() { (f); }; f", "f() { echo $(f); }; f"} {
		if got := b.typed(make(chan struct{}), line); !strings.Contains(got, "run in one another") {
			t.Errorf("%s: %.200q", line, got)
		}
	}
	if got := b.typed(make(chan struct{}), "echo here"); got != "here" {
		t.Errorf("the next line: %q", got)
	}
}

// A line that was put behind goes on in its own shell; what is typed meanwhile finds
// variables, functions and folder as they were before it, and keeps what it changes.
func TestALineBehindKeepsItsChangesToItself(t *testing.T) {
	b := newBench(t, console.Config{})
	never, behind, begun, on := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	b.Register("hold", func(context.Context, *command.Invocation) int { close(begun); <-on; return 0 })
	folder := t.TempDir()
	b.typed(never, "x=before; f() { echo f of $x; }; cd "+folder)
	job := make(chan string)
	go func() { job <- b.typed(behind, "x=behind; cd /; hold; echo $x $PWD; f") }()
	<-begun
	close(behind)
	if got := b.typed(never, "echo $x $PWD; f; x=after; kubectl get ns kube-system -o name | head -1"); got != "before "+folder+"\nf of before\nnamespace/kube-system" {
		t.Errorf("beside the line behind: %q", got)
	}
	already := make(chan struct{})
	close(already)
	if got := b.typed(already, "echo $x $PWD; x=other; kubectl config set-context --current --namespace kube-system"); !strings.HasPrefix(got, "after "+folder) {
		t.Errorf("a line that begins behind: %q", got)
	}
	close(on)
	if got := <-job; got != "behind /\nf of behind" {
		t.Errorf("the line behind: %q", got)
	}
	if got := b.typed(never, "echo $x $PWD; kubectl config view --minify -o jsonpath={..namespace}; kubectl get sa -o name"); !strings.HasPrefix(got, "after "+folder) || !strings.Contains(got, "serviceaccount/default") {
		t.Errorf("after it has ended: %q", got)
	}
	b.Stand("/")
	if got := b.typed(never, "echo $x $PWD"); got != "after /" {
		t.Errorf("told to stand elsewhere: %q", got)
	}
}

// The first line of all can be put behind too, and many at once run beside others.
func TestManyLinesBehind(t *testing.T) {
	b := newBench(t, console.Config{})
	behind, begun, on, never := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	b.Register("hold", func(context.Context, *command.Invocation) int { begun <- struct{}{}; <-on; return 0 })
	const n = 8
	ended := make(chan string, n)
	for i := range n {
		behind = make(chan struct{})
		go func() { ended <- b.typed(behind, fmt.Sprintf("y=%d; hold; kubectl create ns n-%d; echo $x $y", i, i)) }()
		<-begun
		close(behind)
	}
	b.typed(never, "x=here")
	close(on)
	said := map[string]bool{}
	for range n {
		said[<-ended] = true
	}
	for i := range n {
		if want := fmt.Sprintf("namespace/n-%d created\n%d", i, i); !said[want] {
			t.Errorf("nobody said %q, but %v", want, said)
		}
	}
	if got := b.typed(never, "echo $x$y"); got != "here" {
		t.Errorf("then %q", got)
	}
}
