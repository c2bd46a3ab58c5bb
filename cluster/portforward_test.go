package cluster_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream" //nolint:staticcheck // what client-go takes
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"

	"kviz/raftstore/steady"
)

// both runs a test over WebSocket and over SPDY.
func both(t *testing.T, o *served, fn func(t *testing.T, of func(*url.URL) remotecommand.Executor)) {
	for name, make := range map[string]func(u *url.URL) (remotecommand.Executor, error){
		"WebSocket": func(u *url.URL) (remotecommand.Executor, error) {
			return remotecommand.NewWebSocketExecutor(o.cfg, "GET", u.String())
		},
		"SPDY": func(u *url.URL) (remotecommand.Executor, error) {
			return remotecommand.NewSPDYExecutor(o.cfg, "POST", u)
		},
	} {
		t.Run(name, func(t *testing.T) {
			fn(t, func(u *url.URL) remotecommand.Executor {
				e, err := make(u)
				if err != nil {
					t.Fatal(err)
				}
				return e
			})
		})
	}
}

// On a terminal ctrl+C ends the command that runs: the whole of it, or the line of a
// shell, which goes on and knows its variables.
func TestInterruptInATerminal(t *testing.T) {
	o := serveOutside(t, simplePod("stays", corev1.Container{Image: "nginx"}))
	both(t, o, func(t *testing.T, of func(*url.URL) remotecommand.Executor) {
		begin := func(command ...string) (*io.PipeWriter, *screen, chan error) {
			keys, typed := io.Pipe()
			see, ended := &screen{}, make(chan error, 1)
			e := of(o.sub("stays", "exec").VersionedParams(&corev1.PodExecOptions{Command: command, Stdin: true, Stdout: true, TTY: true}, scheme.ParameterCodec).URL())
			go func() {
				ended <- e.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: keys, Stdout: see, Tty: true})
			}()
			return typed, see, ended
		}
		typed, see, ended := begin("sh", "-c", "while true; do echo tick; sleep 1; done")
		steady.Until(t, "a command that goes on is seen", see.has("tick\r\ntick\r\n"))
		_, _ = typed.Write([]byte{3})
		if err := <-ended; err == nil || err.Error() != "command terminated with exit code 130" {
			t.Errorf("ctrl+C ended it with %v", err)
		}

		typed, see, ended = begin("sh")
		steady.Until(t, "there is a prompt", see.has("/ # "))
		_, _ = typed.Write([]byte("name=known\rsleep 100000\r"))
		steady.Until(t, "it is typed", see.has("sleep 100000\r\n"))
		_, _ = typed.Write([]byte("\x03echo $?-$name\r"))
		steady.Until(t, "the shell goes on", see.has("130-known\r\n"))
		_, _ = typed.Write([]byte("exit 7\r"))
		if err := <-ended; err == nil || err.Error() != "command terminated with exit code 7" {
			t.Errorf("the shell ended with %v", err)
		}
	})
}

// Who attaches sees what the container writes, and types for it, as kubectl run -it does.
func TestAttach(t *testing.T) {
	o := serveOutside(
		t, simplePod("talks", corev1.Container{Image: "busybox", Command: []string{"sh", "-c", "while true; do echo so; echo no >&2; sleep 1; done"}}),
		simplePod("shell-ws", corev1.Container{Image: "busybox", Stdin: true, StdinOnce: true, TTY: true}),
		simplePod("shell-spdy", corev1.Container{Image: "busybox", Stdin: true, StdinOnce: true, TTY: true}),
		simplePod("cat-ws", corev1.Container{Image: "busybox", Command: []string{"cat"}, Stdin: true, StdinOnce: true}),
		simplePod("cat-spdy", corev1.Container{Image: "busybox", Command: []string{"cat"}, Stdin: true, StdinOnce: true}),
	)
	both(t, o, func(t *testing.T, of func(*url.URL) remotecommand.Executor) {
		suffix := map[bool]string{true: "-ws", false: "-spdy"}[strings.HasSuffix(t.Name(), "WebSocket")]
		attach := func(pod string, opts *corev1.PodAttachOptions) remotecommand.Executor {
			return of(o.sub(pod, "attach").VersionedParams(opts, scheme.ParameterCodec).URL())
		}
		ctx, leave := context.WithCancel(t.Context())
		out, errOut, ended := &screen{}, &screen{}, make(chan error, 1)
		go func() {
			ended <- attach("talks", &corev1.PodAttachOptions{Stdout: true, Stderr: true}).StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: out, Stderr: errOut})
		}()
		steady.Until(t, "both streams are seen", func() bool { return out.has("so\nso\n")() && errOut.has("no\n")() })
		leave()
		<-ended

		var said bytes.Buffer
		err := attach("cat"+suffix, &corev1.PodAttachOptions{Stdin: true, Stdout: true}).StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: strings.NewReader("a\nb\n"), Stdout: &said})
		if err != nil || said.String() != "a\nb\n" {
			t.Errorf("cat said %q, %v", said.String(), err)
		}

		keys, typed := io.Pipe()
		see := &screen{}
		go func() {
			ended <- attach("shell"+suffix, &corev1.PodAttachOptions{Stdin: true, Stdout: true, TTY: true}).StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: keys, Stdout: see, Tty: true})
		}()
		_, _ = typed.Write([]byte("echo $((6*7))\r"))
		steady.Until(t, "the shell answers", see.has("\r\n42\r\n"))
		_, _ = typed.Write([]byte("exit 3\r"))
		if err := <-ended; err != nil {
			t.Errorf("attached to a shell that ends: %v", err)
		}
		steady.Until(t, "the container ended", func() bool {
			p, err := o.api.CoreV1().Pods("default").Get(t.Context(), "shell"+suffix, metav1.GetOptions{})
			if err != nil || len(p.Status.ContainerStatuses) == 0 {
				return false
			}
			st := &p.Status.ContainerStatuses[0]
			for _, end := range []*corev1.ContainerStateTerminated{st.State.Terminated, st.LastTerminationState.Terminated} {
				if end != nil {
					return end.ExitCode == 3
				}
			}
			return false
		})
	})
}

// A forwarded port answers HTTP, over a WebSocket tunnel as kubectl opens one and over SPDY.
func TestPortForward(t *testing.T) {
	o := serveOutside(t, simplePod("web", corev1.Container{Image: "nginx"}))
	u := o.sub("web", "portforward").URL()
	tunnel, err := portforward.NewSPDYOverWebsocketDialer(u, o.cfg)
	if err != nil {
		t.Fatal(err)
	}
	trip, upgrader, err := spdy.RoundTripperFor(o.cfg)
	if err != nil {
		t.Fatal(err)
	}
	for name, dialer := range map[string]httpstream.Dialer{
		"WebSocket": tunnel, "SPDY": spdy.NewDialer(upgrader, &http.Client{Transport: trip}, "POST", u),
	} {
		t.Run(name, func(t *testing.T) {
			stop, ready := make(chan struct{}), make(chan struct{})
			f, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{"0:80", "0:81"}, stop, ready, io.Discard, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- f.ForwardPorts() }()
			select {
			case <-ready:
			case err := <-ended:
				t.Fatal(err)
			}
			ports, err := f.GetPorts()
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				resp, err := http.Get("http://127.0.0.1:" + strconv.Itoa(int(ports[0].Local)) + "/page")
				if err != nil {
					t.Fatal(err)
				}
				b, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != 200 || string(b) != "hello from web\n" {
					t.Errorf("%d %q, %v", resp.StatusCode, b, err)
				}
			}
			if _, err := http.Get("http://127.0.0.1:" + strconv.Itoa(int(ports[1].Local))); err == nil {
				t.Error("a port where nothing listens answers")
			}
			close(stop)
			if err := <-ended; err != nil && !errors.Is(err, portforward.ErrLostConnectionToPod) { // as kubectl says where a port is refused
				t.Error(err)
			}
		})
	}
}

// Where the program behind a forwarded port speaks HTTPS, the port does: a client shakes hands with it, and
// one that speaks plain HTTP gets nothing.
func TestPortForwardToHTTPS(t *testing.T) {
	o := serveOutside(t, simplePod("metrics", corev1.Container{Image: "registry.k8s.io/e2e-test-images/agnhost:2.56", Command: []string{"/agnhost", "external-metrics"}}))
	dialer, err := portforward.NewSPDYOverWebsocketDialer(o.sub("metrics", "portforward").URL(), o.cfg)
	if err != nil {
		t.Fatal(err)
	}
	stop, ready := make(chan struct{}), make(chan struct{})
	f, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{"0:6443"}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- f.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	ports, err := f.GetPorts()
	if err != nil {
		t.Fatal(err)
	}
	at := "127.0.0.1:" + strconv.Itoa(int(ports[0].Local))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for _, want := range []struct{ path, says string }{
		{"/readyz", "ok"},
		{"/set/queue_messages_ready?value=42", `{"metric":"queue_messages_ready","status":"success","value":42}`},
		{"/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue_messages_ready", `"value":"42"`},
		{"/fail/queue_messages_ready?fail=true", `"failing":"true"`},
		{"/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue_messages_ready", "metric queue_messages_ready is configured to fail"},
		{"/set/nothing?value=1", "metric nothing not found"},
		{"/create/lag?value=7&fail=false&labels=topic%3Dorders", `"labels":{"topic":"orders"}`},
		{"/apis/external.metrics.k8s.io/v1beta1/namespaces/default/lag?labelSelector=topic%3Dorders", `"value":"7"`},
		{"/apis/external.metrics.k8s.io/v1beta1/namespaces/default/lag?labelSelector=topic%3Dbills", "no metric name called lag with labels map[topic:bills]"},
	} {
		resp, err := client.Get("https://" + at + want.path)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(b), want.says) {
			t.Errorf("%s: %d %q, %v; want %q", want.path, resp.StatusCode, b, err, want.says)
		}
	}
	if resp, err := http.Get("http://" + at + "/readyz"); err == nil && resp.StatusCode == http.StatusOK {
		t.Error("plain HTTP was answered")
	}
	close(stop)
	if err := <-ended; err != nil && !errors.Is(err, portforward.ErrLostConnectionToPod) {
		t.Error(err)
	}
}

// A request for the subresource proxy is answered by the pod, or by one behind the Service.
func TestProxyToPodsAndServices(t *testing.T) {
	web := simplePod("web", corev1.Container{Image: "nginx", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 80}}})
	o := serveOutside(t, web)
	ctx := t.Context()
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "front"}, Spec: corev1.ServiceSpec{
		Selector: web.Labels, Ports: []corev1.ServicePort{{Name: "main", Port: 8080, TargetPort: intstr.FromInt32(80)}},
	}}
	if _, err := o.api.CoreV1().Services("default").Create(ctx, svc, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c := o.api.CoreV1().RESTClient()
	steady.Until(t, "the Service has an endpoint", func() bool {
		return c.Get().AbsPath("/api/v1/namespaces/default/services/front:main/proxy/").Do(ctx).Error() == nil
	})
	ask := func(verb, path string) (code int, body string) {
		r := c.Verb(verb).AbsPath("/api/v1/namespaces/default/" + path).Do(ctx)
		b, _ := r.Raw() // a refusal has a body, too
		r.StatusCode(&code)
		return code, strings.ReplaceAll(string(b), `\"`, `"`)
	}
	for _, want := range []struct {
		verb, path string
		code       int
		says       string
	}{
		{"GET", "pods/web/proxy/", 200, "hello from web"},
		{"GET", "pods/web:80/proxy/a/b?c=d", 200, "hello from web"},
		{"POST", "pods/http:web:80/proxy/form", 200, "hello from web"},
		{"PUT", "pods/web/proxy/x", 200, "hello from web"},
		{"PATCH", "pods/web/proxy/x", 200, "hello from web"},
		{"DELETE", "pods/web/proxy/x", 200, "hello from web"},
		{"OPTIONS", "pods/web/proxy/x", 200, "hello from web"},
		{"GET", "services/front:8080/proxy/", 200, "hello from web"},
		{"GET", "services/front:main/proxy/x", 200, "hello from web"},
		{"GET", "pods/web:81/proxy/", 503, "error trying to reach service: dial tcp 10.244."},
		{"GET", "pods/https:web:80/proxy/", 503, "server gave HTTP response to HTTPS client"},
		{"GET", "services/front:81/proxy/", 503, `no service port 81 found for service "front"`},
		{"GET", "services/front/proxy/", 503, `no endpoints available for service "front"`},
		{"GET", "pods/nobody/proxy/", 404, `pods "nobody" not found`},
	} {
		if code, body := ask(want.verb, want.path); code != want.code || !strings.Contains(body, want.says) {
			t.Errorf("%s %s: %d %q, want %d %q", want.verb, want.path, code, body, want.code, want.says)
		}
	}
	log, err := o.api.CoreV1().Pods("default").GetLogs("web", &corev1.PodLogOptions{}).DoRaw(ctx)
	if err != nil || !strings.Contains(string(log), `"POST /form HTTP/1.1" 200`) {
		t.Errorf("the pod's log: %q, %v", log, err)
	}
}
