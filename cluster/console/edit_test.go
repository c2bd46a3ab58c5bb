package console_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kviz/cluster/console"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// person is who sits at the terminal: what they do in the editor, time after time.
type person struct {
	t     *testing.T
	out   *bytes.Buffer
	does  []func(text string) (string, error)
	files []string
}

// lend is a terminal on which the editor shows the comments and the person does the
// next thing.
func (p *person) lend(_ context.Context, _ string, argv []string) error {
	file := argv[len(argv)-1]
	if argv[0] == "/bin/sh" {
		file = strings.Trim(file[strings.LastIndex(file, " ")+1:], `"`)
	}
	p.files = append(p.files, file)
	text, err := os.ReadFile(file)
	if err != nil {
		p.t.Errorf("the editor cannot read %s: %v", file, err)
		return err
	}
	fmt.Fprintf(p.out, "[%s]\n", strings.Join(argv, " "))
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "#") {
			fmt.Fprintln(p.out, "|", strings.TrimRight(line, " "))
		}
	}
	if len(p.does) == 0 {
		p.t.Errorf("the editor was opened once more than expected, with:\n%s", text)
		return errors.New("nobody is there")
	}
	do := p.does[0]
	p.does = p.does[1:]
	after, err := do(string(text))
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(after), 0o600)
}

// types replaces a text, which has to be there.
func (p *person) types(pairs ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(text, pairs[i]) {
				p.t.Errorf("the file to edit has no %q:\n%s", pairs[i], text)
			}
			text = strings.Replace(text, pairs[i], pairs[i+1], 1)
		}
		return text, nil
	}
}

func leaves(text string) (string, error) { return text, nil }

// kubectl edit and its kin, with a person at the editor: the lines in brackets are
// the program that has the terminal, and below it the comments that stand in the file.
func TestEdit(t *testing.T) {
	b := newBench(t, console.Config{})
	p := &person{t: t, out: &bytes.Buffer{}}
	type edits = []func(string) (string, error)
	t.Setenv("EDITOR", "ed -s")
	t.Setenv("KUBE_EDITOR", "")
	t.Setenv("SHELL", "/bin/sh")
	t.Setenv("WORK", t.TempDir())
	for _, s := range []struct {
		line string
		does edits
	}{
		{"kubectl create configmap a --from-literal=colour=blue && kubectl create configmap b --from-literal=colour=blue", nil},
		{"kubectl edit configmap a", edits{p.types("colour: blue", "colour: red")}},
		{"kubectl get configmap a -o jsonpath='{.data.colour} {.metadata.annotations}'", nil},
		{"kubectl get configmap a -o yaml --show-managed-fields | grep manager:", nil},
		{"kubectl edit configmap/a", edits{leaves}},
		{"kubectl edit configmap/a", edits{func(string) (string, error) { return "\n# nothing\n", nil }, leaves}},
		// A conflict cannot be mended in the editor.
		{"kubectl edit configmap a", edits{func(text string) (string, error) {
			return regexp.MustCompile(`resourceVersion: "\d+"`).ReplaceAllString(text, `resourceVersion: "1"`), nil
		}}},
		// A syntax error, mended.
		{"kubectl edit configmap a", edits{p.types("colour: red", "colour: [red"), p.types("colour: [red", "colour: green")}},
		// What is invalid stands at the head of the file.
		{"kubectl create deployment web --image=nginx", nil},
		{"kubectl edit deployment web --output-patch", edits{p.types("replicas: 1", "replicas: -1"), p.types("replicas: -1", "replicas: 3")}},
		{"kubectl get deployment web -o jsonpath='{.spec.replicas}'", nil},
		{"kubectl edit deployment web", edits{p.types("replicas: 3", "replicas: -1"), leaves}},
		{"kubectl edit deployment web --subresource=status", edits{p.types("status: {}", "status: {replicas: 2}")}},
		{"kubectl edit deployment web -o json | grep replicas", edits{p.types(`"replicas": 3`, `"replicas": 4`)}},
		{"kubectl edit deployment web --save-config", edits{p.types("replicas: 4", "replicas: 5")}},
		{"kubectl get deployment web -o yaml | grep -c last-applied", nil},
		{"kubectl edit deployment web", edits{p.types("name: web", "name: wob")}},
		// Several objects are one file.
		{"kubectl edit configmaps a b", edits{p.types("colour: blue", "colour: yellow")}},
		{"kubectl get configmaps a b -o jsonpath='{.items[*].data.colour}'", nil},
		{"kubectl edit configmap a -o name", nil},
		{"kubectl edit configmap none", nil},
		// Somebody else was faster.
		{"kubectl edit configmap b", edits{func(text string) (string, error) {
			if exit := b.Exec(t.Context(), "kubectl delete configmap b", control.Streams{Source: "test"}); exit != 0 {
				t.Errorf("delete: exit status %d", exit)
			}
			return p.types("colour: yellow", "colour: black")(text)
		}}},
		// A kind that kubectl does not know by itself is patched with a JSON merge patch.
		{`cat <<EOF | kubectl apply -f -
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ships.example.com}
spec:
  group: example.com
  names: {kind: Ship, plural: ships}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {masts: {type: integer}}}}}]
EOF`, nil},
		{"kubectl wait --for=condition=Established crd/ships.example.com --timeout=60s", nil},
		{"echo '{apiVersion: example.com/v1, kind: Ship, metadata: {name: vasa}, masts: 3}' | kubectl create -f -", nil},
		{"kubectl edit ship vasa --output-patch", edits{p.types("masts: 3", "masts: many"), p.types("masts: many", "masts: 4")}},
		// Before an object is there, and what kubectl apply noted of one.
		{"cd $WORK; printf 'apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: c}\\ndata: {colour: blue}\\n' > c.yaml; kubectl create --edit -f c.yaml", edits{p.types("colour: blue", "colour: white")}},
		{"kubectl apply -f c.yaml 2> apply.txt; kubectl apply edit-last-applied configmap c", edits{p.types("colour: blue", "colour: grey")}},
		{"kubectl get configmap c -o jsonpath='{.metadata.annotations}'", nil},
		{"kubectl edit -f c.yaml", edits{p.types("colour: blue", "colour: pink")}},
		// Editors.
		{`KUBE_EDITOR='my "own" editor' kubectl edit configmap c`, edits{p.types("colour: pink", "colour: brown")}},
		{"KUBE_EDITOR=nano kubectl edit configmap c", edits{func(string) (string, error) { return "", fmt.Errorf("start: %w", exec.ErrNotFound) }}},
		{"kubectl edit configmap c", edits{func(string) (string, error) { return "", errors.New("exit status 1") }}},
	} {
		p.does = s.does
		fmt.Fprintf(p.out, "$ %s\n", s.line)
		exit := b.Exec(t.Context(), s.line, control.Streams{Out: p.out, Err: p.out, Source: "test", Lend: p.lend})
		if text := p.out.Bytes(); text[len(text)-1] != '\n' {
			p.out.WriteByte('\n')
		}
		if exit != 0 {
			fmt.Fprintf(p.out, "(exit %d)\n", exit)
		}
		if len(p.does) > 0 {
			t.Errorf("%s: the editor was opened %d times less than expected", s.line, len(p.does))
		}
	}
	fmt.Fprint(p.out, b.run(t, "kubectl edit configmap c", "kubectl create --edit -f c.yaml", "kubectl apply edit-last-applied -f c.yaml", "kubectl edit --help | head -3"))
	golden(t, "edit.txt", regexp.MustCompile(regexp.QuoteMeta(os.TempDir())+`/kubectl-edit-\d+`).ReplaceAllString(p.out.String(), "TMP/kubectl-edit-N"))

	kept := 0
	for _, f := range p.files {
		if _, err := os.Stat(f); err == nil {
			kept++
			os.Remove(f)
		}
	}
	if want := strings.Count(p.out.String(), "to try this update again") + strings.Count(p.out.String(), "have been saved to") + strings.Count(p.out.String(), "has been stored"); kept != want {
		t.Errorf("%d files were left behind, want the %d that were told of", kept, want)
	}
	// The names of those files are not the same in any two runs: the trace has none.
	for pos := uint64(0); pos < b.stream.Len(); pos++ {
		if c, ok := b.stream.Get(pos).Payload.(*trace.Command); ok && strings.Contains(c.Output, "kubectl-edit-") {
			t.Errorf("console.done of %s names a temporary file: %s", c.Line, c.Output)
		}
	}
}

// An edit whose patch waits, because the cluster stands, ends when it is interrupted,
// and the person's work is kept.
func TestAnInterruptedEditKeepsTheFile(t *testing.T) {
	b := newBench(t, console.Config{})
	b.run(t, "kubectl create configmap a --from-literal=colour=blue")
	t.Setenv("EDITOR", "ed")
	t.Setenv("KUBE_EDITOR", "")
	ctx, cancel := context.WithCancel(t.Context())
	var file string
	var out bytes.Buffer
	done := make(chan int, 1)
	go func() {
		done <- b.Exec(ctx, "kubectl edit configmap a", control.Streams{Out: &out, Err: &out, Source: "console", Lend: func(_ context.Context, _ string, argv []string) error {
			file = argv[1]
			if err := (machine{b}).Pause(); err != nil {
				return err
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			return os.WriteFile(file, bytes.Replace(text, []byte("blue"), []byte("red"), 1), 0o600)
		}})
	}()
	steady.Until(t, "the patch waits", func() bool { return (machine{b}).Clock().Waiting > 0 })
	cancel()
	if exit := <-done; exit != 1 || !strings.Contains(out.String(), file) || !strings.Contains(out.String(), "context canceled") {
		t.Errorf("exit status %d, said: %s", exit, out.String())
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "colour: red") {
		t.Errorf("%v; %s has: %s", err, filepath.Base(file), text)
	}
	os.Remove(file)
	if err := (machine{b}).Resume(); err != nil {
		t.Fatal(err)
	}
}
