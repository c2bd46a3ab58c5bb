package console_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"kviz/cluster/console"
	"kviz/cluster/control"
	"kviz/raftstore/steady"
)

// FuzzLine: whatever is typed, the console comes back with an exit status, says
// something when that is not 0 for want of a command, and the cluster lives on.
func FuzzLine(f *testing.F) {
	for _, line := range []string{
		"kubectl get pods -A -o wide | grep -c x", "kubectl create configmap a --from-literal=b=c && kubectl get cm a -o jsonpath={.data.b}",
		"kubectl apply -f - <<< '{\"kind\":\"Pod\"'", "kubectl get pods -l 'a in (b' --sort-by=.x", "kubectl patch cm a -p '{' --type=json",
		"kviz why 99999", "kviz step nothing", "kviz wait --timeout 1s 'object(\"pods\", \"a\") == '", "kviz speed -1", "kviz fault stop member/z",
		"for i in 1 2 3; do echo $i; done | sort -rn | head -2", "x=$(kubectl get ns -o name | wc -l); test $x -gt 3", "echo ${a:?no} || echo 'it' \"fails", "sleep -1", "kubectl wait --for=jsonpath='{.x' cm/a",
		"kubectl explain pod.spec.containers --recursive | tail -1", "kubectl \x00 \xff", "((1/0))", "cat /nothing; false | true",
	} {
		f.Add(line)
	}
	b := newBench(f, console.Config{})
	f.Fuzz(func(t *testing.T, line string) {
		for _, s := range []string{">", "output", "profile", "dir", "kubeconfig", "while", "until", "exec"} {
			if strings.Contains(line, s) { // nothing that writes to the disk, waits for ever, or replaces the shell
				return
			}
		}
		if err := b.kernel.Do(b.kernel.Resume); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), steady.Patience(t))
		defer cancel()
		var out bytes.Buffer
		exit := b.Exec(ctx, line, control.Streams{Out: &out, Err: &out, Source: "test"})
		if exit == 127 && out.Len() == 0 {
			t.Errorf("%q is not found, and nothing says so", line)
		}
		if err := b.kernel.Do(func() {}); err != nil {
			t.Fatalf("after %q the cluster is gone: %v", line, err)
		}
	})
}
