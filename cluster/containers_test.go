package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// What kubectl logs and exec say: testdata/containers.txt. They go through the API
// server's pipeline, where somebody may be refused and the audit log hears of them, and
// from there to the pod's kubelet, which may be down.
func TestLogsAndExec(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		golden(t, "containers", typed(t, c, "testdata/containers.txt", varying))

		requests, calls := map[string]int{}, 0
		events, _, _ := c.Trace().Read(c.Trace().First(), 1<<20)
		for _, e := range events {
			switch p := e.Payload.(type) {
			case *trace.Request:
				if e.Kind == trace.RequestReceived && p.Resource == "pods" && p.Subresource != "" {
					requests[p.Verb+" "+p.Subresource]++
				}
			case *trace.RuntimeCall:
				if p.Call == "Exec" {
					calls++
				}
			}
		}
		if requests["get log"] == 0 || requests["get exec"] == 0 {
			t.Errorf("requests in the trace: %v", requests)
		}
		if calls == 0 || calls >= requests["get exec"] {
			t.Errorf("%d CRI calls for %d requests, of which some were refused", calls, requests["get exec"])
		}
	})
}

// Programs outside read logs and run commands as they do with a real kube-apiserver:
// over HTTPS, and over WebSocket with v5.channel.k8s.io.
func TestLogsAndExecOverHTTPS(t *testing.T) {
	talks := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "talks"},
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{
			Name: "app", Image: "busybox:1.36", Command: []string{"sh", "-c", "for i in 1 2 3 4 5; do echo line $i; sleep 2; done"},
		}}},
	}
	stays := talks.DeepCopy()
	stays.Name, stays.Spec.Containers[0].Command = "stays", []string{"sleep", "100000"}
	o := serveOutside(t, talks, stays)
	pods := o.api.CoreV1().Pods("default")
	ctx, stop := context.WithTimeout(t.Context(), steady.Patience(t))
	defer stop()

	pod := "stays"
	execFrom := func(in io.Reader, command ...string) (out, errOut string, err error) {
		options := &corev1.PodExecOptions{Command: command, Stdin: in != nil, Stdout: true, Stderr: true}
		u := o.sub(pod, "exec").VersionedParams(options, scheme.ParameterCodec).URL()
		e, err := remotecommand.NewWebSocketExecutor(o.cfg, "GET", u.String())
		if err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		err = e.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: &stdout, Stderr: &stderr})
		return stdout.String(), stderr.String(), err
	}
	exec := func(in string, command ...string) (out, errOut string, err error) {
		if in == "" {
			return execFrom(nil, command...)
		}
		return execFrom(strings.NewReader(in), command...)
	}
	if out, _, err := exec("", "hostname"); out != "stays\n" || err != nil {
		t.Errorf("hostname: %q, %v", out, err)
	}
	if out, _, err := exec("echo $((6*7))\n", "sh"); out != "42\n" || err != nil {
		t.Errorf("a script at the shell's input: %q, %v", out, err)
	}
	if out, _, err := exec("one\ntwo\n", "sh", "-c", "cat > /tmp/f; cat -; cat /tmp/f; echo done"); out != "one\ntwo\ndone\n" || err != nil {
		t.Errorf("a command's input, which is read once: %q, %v", out, err)
	}
	open, never := io.Pipe() // a terminal where nobody types
	defer never.Close()
	if out, _, err := execFrom(open, "hostname"); out != "stays\n" || err != nil {
		t.Errorf("a command that reads no input: %q, %v", out, err)
	}
	if _, _, err := execFrom(endless{}, "sh", "-c", "cat > /dev/null"); err == nil || !strings.Contains(err.Error(), "no more than 16 MiB") {
		t.Errorf("input without end: %v", err)
	}
	var ended utilexec.CodeExitError
	if _, errOut, err := exec("", "sh", "-c", "echo so >&2; exit 3"); !errors.As(err, &ended) || ended.Code != 3 || errOut != "so\n" {
		t.Errorf("exit 3: %q, %v", errOut, err)
	}

	follow, err := pods.GetLogs("talks", &corev1.PodLogOptions{Follow: true}).Stream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(follow) // to the end of the container
	if want := "line 1\nline 2\nline 3\nline 4\nline 5\n"; string(all) != want || err != nil {
		t.Errorf("followed: %q, %v", all, err)
	}
	last := int64(2)
	if b, err := pods.GetLogs("talks", &corev1.PodLogOptions{TailLines: &last}).DoRaw(ctx); string(b) != "line 4\nline 5\n" || err != nil {
		t.Errorf("the last two lines: %q, %v", b, err)
	}
	if _, err := pods.GetLogs("talks", &corev1.PodLogOptions{Previous: true}).Stream(ctx); err == nil || err.Error() != `previous terminated container "app" in pod "talks" not found` {
		t.Errorf("the container before: %v", err)
	}
	pod = "talks"
	if _, _, err := exec("", "hostname"); err == nil || err.Error() != `Internal error occurred: unable to upgrade connection: container not found ("app")` {
		t.Errorf("exec when it has ended: %v", err)
	}
}

// endless is /dev/zero.
type endless struct{}

// Read implements [io.Reader].
func (endless) Read(p []byte) (int, error) { return len(p), nil }
