package runtime_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kviz/cluster/client/clienttest"
	"kviz/cluster/registry"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

type bench struct {
	t   *sim.Task
	reg *registry.Registry
	rt  *runtime.Runtime
}

func run(tb testing.TB, cidr string, main func(b *bench)) {
	tb.Helper()
	clienttest.Run(tb, 1, func(cb *clienttest.Bench, t *sim.Task) {
		reg := registry.New(cb.Kernel)
		b := &bench{t, reg, runtime.New(cb.Kernel, reg, runtime.Config{Node: "node-1", PodCIDR: cidr, Images: []string{"busybox", "nginx", "redis", "kviz/crash", "postgres", "registry.k8s.io/e2e-test-images/agnhost:2.53"}})}
		t.Sleep(time.Second)
		main(b)
	})
}

// start starts a container in a new sandbox.
func (b *bench) start(name string, cfg runtime.ContainerConfig) (string, error) {
	s, err := b.rt.RunPodSandbox(b.t, runtime.SandboxConfig{PodUID: name, Namespace: "demo", Name: name, Hostname: name})
	if err != nil {
		return "", err
	}
	cfg.Name = "app"
	id, err := b.rt.CreateContainer(b.t, s, cfg)
	if err != nil {
		return "", err
	}
	return id, b.rt.StartContainer(b.t, id)
}

// TestContainersBehave is the catalogue: how containers end within a minute, and
// what they answer.
func TestContainersBehave(t *testing.T) {
	sh := func(script string) []string { return []string{"sh", "-c", script} }
	for _, c := range []struct {
		name    string
		cfg     runtime.ContainerConfig
		ends    string // "runs", or reason, code and when
		answers string // to port 80, "" for nothing
		log     string
	}{
		{"nginx serves", runtime.ContainerConfig{Image: "nginx"}, "runs", "hello from web\n", ""},
		{"a shell without input ends", runtime.ContainerConfig{Image: "busybox"}, "Completed 0 at 0s", "", ""},
		{"sleep", runtime.ContainerConfig{Image: "busybox", Args: []string{"sleep", "30"}}, "Completed 0 at 30s", "", ""},
		{"false", runtime.ContainerConfig{Image: "busybox", Command: []string{"false"}}, "Error 1 at 0s", "", ""},
		{"exit code of a script", runtime.ContainerConfig{Image: "busybox", Command: sh("exit 3")}, "Error 3 at 0s", "", ""},
		{"a script works", runtime.ContainerConfig{Image: "busybox", Command: sh("for i in 1 2 3; do echo $i; sleep $i; done; test -f /etc/hostname && cat /etc/hostname")}, "Completed 0 at 6s", "", "1 2 3 web"},
		{"a file read from", runtime.ContainerConfig{Image: "busybox", Command: sh("echo one > f; cat < f; cat < /dev/null; cat <<E\ntwo $GREETING\nE\n"), Env: map[string]string{"GREETING": "words"}}, "Completed 0 at 0s", "", "one two words"},
		{"a file that is not there", runtime.ContainerConfig{Image: "busybox", Command: sh("cat < missing || echo no; echo once > out < missing; cat out; ! cat < missing; cat < missing; exit $?")}, "Error 1 at 0s", "", "sh: can't open missing: no such file no sh: can't open missing: no such file sh: can't open missing: no such file sh: can't open missing: no such file"},
		{"a redirection that ends the shell", runtime.ContainerConfig{Image: "busybox", Command: sh("exec < missing; echo never")}, "Error 1 at 0s", "", "sh: can't open missing: no such file"},
		{"a loop", runtime.ContainerConfig{Image: "busybox", Command: sh("n=0; while [ $n -lt 4 ]; do n=$((n+1)); sleep 5; done; echo done $n >&2")}, "Completed 0 at 20s", "", "done 4"},
		{"a function", runtime.ContainerConfig{Image: "busybox", Command: sh("f() { echo $# $2 $@; for i in 1 2; do return 3; done; echo never; }; f a 'b c' d; echo $?; g() ( shift; echo $1 ); g x y")}, "Completed 0 at 0s", "", "3 b c a b c d 3 y"},
		{"a function of a subshell", runtime.ContainerConfig{Image: "busybox", Command: sh("(f() { :; }; f && echo inside); f; echo $?")}, "Completed 0 at 0s", "", "inside sh: f: not found 127"},
		{"a function that calls itself", runtime.ContainerConfig{Image: "busybox", Command: sh("f() { f; }; f; echo never")}, "Error 2 at 40ms", "", "sh: can't fork: Resource temporarily unavailable"},
		{"arguments of a script", runtime.ContainerConfig{Image: "busybox", Command: []string{"sh", "-c", "echo $1 $#", "name", "one", "two"}}, "Completed 0 at 0s", "", "one 2"},
		{"a busy loop lets time pass", runtime.ContainerConfig{Image: "busybox", Command: sh("while true; do :; done")}, "runs", "", ""},
		{"a script listens", runtime.ContainerConfig{Image: "busybox", Command: sh("echo up; httpd -f -p 80")}, "runs", "hello from web\n", "up"},
		{"a command that is not there", runtime.ContainerConfig{Image: "busybox", Command: []string{"nosuch"}}, "StartError 128", "", ""},
		{"kviz/crash", runtime.ContainerConfig{Image: "kviz/crash"}, "Error 1 at 2s", "", "starting fatal: cannot reach the database"},
		{
			"postgres without its password",
			runtime.ContainerConfig{Image: "postgres"},
			"Error 1 at 300ms", "",
			"Error: Database is uninitialized and superuser password is not specified.        You must specify POSTGRES_PASSWORD to a non-empty value.",
		},
		{"postgres", runtime.ContainerConfig{Image: "postgres", Env: map[string]string{"POSTGRES_PASSWORD": "x"}}, "runs", "", ""},
		{"environment", runtime.ContainerConfig{Image: "busybox", Command: sh("echo $GREETING"), Env: map[string]string{"GREETING": "good morning"}}, "Completed 0 at 0s", "", "good morning"},
		{"annotation: out of memory", runtime.ContainerConfig{Image: "nginx", Behaviour: "oom after 10s"}, "OOMKilled 137 at 10s", "", ""},
		{"annotation: text", runtime.ContainerConfig{Image: "nginx", Behaviour: "serve 80; text hi there"}, "runs", "hi there\n", ""},
		{"annotation with a mistake", runtime.ContainerConfig{Image: "nginx", Behaviour: "serv 80"}, "StartError 128", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, "10.244.1.0/24", func(b *bench) {
				id, _ := b.start("web", c.cfg)
				answer := b.rt.Connect("10.244.1.2", 80, "/")
				b.t.Sleep(time.Minute)
				con, _ := b.rt.Container(id)
				if con.State == runtime.Running {
					answer = b.rt.Connect("10.244.1.2", 80, "/")
				}
				ends := "runs"
				if con.State == runtime.Exited {
					ends = fmt.Sprintf("%s %d", con.Reason, con.ExitCode)
					if con.Reason != "StartError" {
						ends += fmt.Sprintf(" at %s", con.FinishedAt.Sub(con.StartedAt))
					}
				}
				if ends != c.ends {
					t.Errorf("%s, want %s (%s)", ends, c.ends, con.Message)
				}
				if answer.Body != c.answers {
					t.Errorf("answers %q, want %q", answer.Body, c.answers)
				}
				lines, err := b.rt.Logs(id)
				if err != nil {
					t.Fatal(err)
				}
				var log []string
				for _, l := range lines {
					if !strings.HasPrefix(l.Text, `"GET`) {
						log = append(log, l.Text)
					}
				}
				if got := strings.Join(log, " "); got != c.log {
					t.Errorf("log %q, want %q", got, c.log)
				}
			})
		})
	}
}

// TestTerm: what TERM does to PID 1 decides how long a pod takes to go.
func TestTerm(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  runtime.ContainerConfig
		took time.Duration
		code int32
	}{
		{"a server ends", runtime.ContainerConfig{Image: "nginx"}, 120 * time.Millisecond, 0},
		{"sleep as PID 1 has no handler", runtime.ContainerConfig{Image: "busybox", Command: []string{"sleep", "1000"}}, 10 * time.Second, 137},
		{"a script without a trap", runtime.ContainerConfig{Image: "busybox", Command: []string{"sh", "-c", "sleep 1000"}}, 10 * time.Second, 137},
		{"a script with a trap", runtime.ContainerConfig{Image: "busybox", Command: []string{"sh", "-c", "trap 'sleep 3; exit 7' TERM; sleep 1000"}}, 3 * time.Second, 7},
		{"a trap that calls a function", runtime.ContainerConfig{Image: "busybox", Command: []string{"sh", "-c", "_term(){ sleep 5; exit 143; }; trap _term SIGTERM; while true; do sleep 1; done"}}, 5 * time.Second, 143},
		{"annotation", runtime.ContainerConfig{Image: "nginx", Behaviour: "serve 80; term 4s"}, 4 * time.Second, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, "10.244.1.0/24", func(b *bench) {
				id, err := b.start("web", c.cfg)
				if err != nil {
					t.Fatal(err)
				}
				b.t.Sleep(time.Second)
				began := b.t.Elapsed()
				if err := b.rt.StopContainer(b.t, id, 10*time.Second); err != nil {
					t.Fatal(err)
				}
				con, _ := b.rt.Container(id)
				if took := b.t.Elapsed() - began; took != c.took || con.ExitCode != c.code {
					t.Errorf("took %s and ended with %d, want %s and %d", took, con.ExitCode, c.took, c.code)
				}
			})
		})
	}
}

// TestAddresses: each sandbox gets the next address, a freed one rests until the
// range has gone round, and a full range refuses.
func TestAddresses(t *testing.T) {
	run(t, "10.244.1.0/29", func(b *bench) {
		ids := map[string]string{}
		make := func(name string) string {
			id, err := b.rt.RunPodSandbox(b.t, runtime.SandboxConfig{PodUID: name, Namespace: "demo", Name: name})
			if err != nil {
				return err.Error()
			}
			ids[name] = id
			ip, _ := b.rt.AddressOf("demo", name)
			return ip
		}
		free := func(name string) string {
			if err := b.rt.StopPodSandbox(b.t, ids[name]); err != nil {
				return err.Error()
			}
			return ""
		}
		for _, c := range []struct{ do, want string }{
			{make("a"), "10.244.1.2"},
			{make("b"), "10.244.1.3"},
			{free("a"), ""},
			{make("c"), "10.244.1.4"},
			{make("d"), "10.244.1.5"},
			{make("e"), "10.244.1.6"},
			{make("f"), "10.244.1.2"},
		} {
			if c.do != c.want {
				t.Errorf("got %s, want %s", c.do, c.want)
			}
		}
		if got := make("g"); !strings.Contains(got, "no IP addresses available in range set: 10.244.1.1-10.244.1.6") {
			t.Errorf("a full range: %s", got)
		}
		b.rt.SetNetworkReady(false)
		free("b")
		if got := make("h"); !strings.HasPrefix(got, "rpc error: code = Unknown desc = failed to setup network for sandbox") || !strings.HasSuffix(got, "cni plugin not initialized") {
			t.Errorf("without CNI: %s", got)
		}
	})
}

// TestPulls: two pods that want one image wait for one pull; what the registry
// says is said in containerd's words.
func TestPulls(t *testing.T) {
	run(t, "10.244.1.0/24", func(b *bench) {
		done := 0
		p := b.t.Kernel().NewProcess(trace.Lane{Component: "test"})
		began := b.t.Elapsed()
		for range 2 {
			p.Go("pull", func(t2 *sim.Task) {
				if _, _, _, err := b.rt.PullImage(t2, "demo/web", "app", "httpd"); err != nil {
					t.Error(err)
				}
				done++
			})
		}
		b.t.Sleep(10 * time.Second)
		if done != 2 {
			t.Fatalf("%d pulls done after %s", done, b.t.Elapsed()-began)
		}
		for ref, want := range map[string]string{
			"nginx:nosuch":           `rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/nginx:nosuch": failed to resolve reference "docker.io/library/nginx:nosuch": docker.io/library/nginx:nosuch: not found`,
			"acme/does-not-exist":    `rpc error: code = Unknown desc = failed to pull and unpack image "docker.io/acme/does-not-exist:latest": failed to resolve reference "docker.io/acme/does-not-exist:latest": pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed`,
			"registry.corp/web:1":    `rpc error: code = Unknown desc = failed to pull and unpack image "registry.corp/web:1": failed to resolve reference "registry.corp/web:1": failed to do request: Head "https://registry.corp/v2/web/manifests/1": dial tcp: lookup registry.corp: no such host`,
			"Not A Valid Image Name": `rpc error: code = InvalidArgument desc = failed to parse reference "Not A Valid Image Name": invalid reference format: repository name (library/Not A Valid Image Name) must be lowercase`,
		} {
			if _, _, _, err := b.rt.PullImage(b.t, "demo/web", "app", ref); err == nil || err.Error() != want {
				t.Errorf("%s:\n%v, want\n%s", ref, err, want)
			}
		}
		b.reg.SetReachable(false)
		began = b.t.Elapsed()
		if _, _, _, err := b.rt.PullImage(b.t, "demo/web", "app", "caddy"); err == nil || !strings.Contains(err.Error(), "i/o timeout") || b.t.Elapsed()-began < 10*time.Second {
			t.Errorf("a registry that cannot be reached: %v after %s", err, b.t.Elapsed()-began)
		}
	})
}
