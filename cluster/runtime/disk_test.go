package runtime_test

import (
	"strings"
	"testing"
	"time"

	"kviz/cluster/runtime"
)

// sh runs a script in a container of a pod and gives what it printed.
func (b *bench) sh(t *testing.T, pod, script string, mounts ...runtime.Mount) string {
	t.Helper()
	id, err := b.start(pod, runtime.ContainerConfig{Image: "busybox", Command: []string{"sh", "-c", script}, Mounts: mounts})
	if err != nil {
		t.Fatal(err)
	}
	b.t.Sleep(time.Second)
	lines, err := b.rt.Logs(id)
	if err != nil {
		t.Fatal(err)
	}
	var log []string
	for _, l := range lines {
		log = append(log, l.Text)
	}
	return strings.Join(log, " ")
}

// TestSharedVolumes: what one container writes to an emptyDir the others of its pod read,
// also those that start later; and to a hostPath, those of the node.
func TestSharedVolumes(t *testing.T) {
	empty := func(at string) runtime.Mount { return runtime.Mount{Volume: "data", Path: at, EmptyDir: true} }
	host := func(path, at string) runtime.Mount { return runtime.Mount{Volume: "host", Path: at, HostPath: path} }
	run(t, "10.244.1.0/24", func(b *bench) {
		for _, c := range []struct {
			what, pod, script string
			mounts            []runtime.Mount
			want              string
		}{
			{"an empty folder", "a", "ls /data; ls -a /data/", []runtime.Mount{empty("/data")}, ""},
			{"the first writes", "a", "echo one > /data/f; echo own > /tmp/f; ls /data", []runtime.Mount{empty("/data")}, "f"},
			{"the next reads it elsewhere", "a", "cat /other/f; cat /tmp/f", []runtime.Mount{empty("/other")}, "one cat: can't open '/tmp/f': No such file or directory"},
			{"a part of it", "a", "cat /f; echo two >> /f", []runtime.Mount{{Volume: "data", Path: "/f", SubPath: "f", EmptyDir: true}}, "one"},
			{"is the whole's", "a", "cat /data/f", []runtime.Mount{empty("/data")}, "one two"},
			{"another pod's is its own", "b", "ls /data; test -f /data/f; echo $?", []runtime.Mount{empty("/data")}, "1"},
			{"the node's", "b", "touch /n/one; echo x > /n/sub/two", []runtime.Mount{host("/var/log", "/n")}, ""},
			{"by another path, in another pod", "c", "ls /v/log; ls /v; cat /v/log/sub/two", []runtime.Mount{host("/var", "/v")}, "one sub log x"},
			{"one volume in another", "c", "echo deep > /v/in/f; ls /v; ls /v/in", []runtime.Mount{host("/var", "/v"), empty("/v/in")}, "in log f"},
			{"does not reach the outer one", "c", "ls /v", []runtime.Mount{host("/var", "/v")}, "log"},
			{
				"linked", "c", "echo one > /v/a; ln -s /v/a /v/b; ln -s a /v/c; cat /v/b /v/c; echo two > /v/c; cat /v/a; rm /v/b; ls /v; ln -s /v/a /v/c || ln -sf /none /v/c; cat /v/c || echo gone; ln /v/a /v/h || ln -s /v/a /v/; cat /v/a",
				[]runtime.Mount{host("/opt", "/v")},
				"one one two a c ln: /v/c: File exists cat: can't open '/v/c': No such file or directory gone ln: /v/a: hard links are not simulated, ln -s is ln: /v/a: File exists two",
			},
			{"links in a circle", "c", "ln -s /v/y /v/x; ln -s /v/x /v/y; cat /v/x || echo no; test -f /v/x || echo none; rm /v/x /v/y; ls /v", []runtime.Mount{host("/srv", "/v")}, "cat: can't open '/v/x': No such file or directory no none"},
			{
				"found", "c", "echo a > /v/log/one; echo b > /v/log/old/two.txt; ln -s /v/log/one /v/l; find /v; find /v -type d; find /v/ -name '*.txt' -print; find /v -maxdepth 1 -type l; find /v/l; find /none; find /v -size 1",
				[]runtime.Mount{host("/data", "/v")},
				"/v /v/l /v/log /v/log/old /v/log/old/two.txt /v/log/one /v /v/log /v/log/old /v/log/old/two.txt /v/l /v/l find: /none: No such file or directory find: unrecognized: -size",
			},
			{"moved and removed", "c", "mv -v /v/log/one /tmp/; ls /tmp; rm -r /v/log; ls /v; mv /none /tmp/ || echo no", []runtime.Mount{host("/var", "/v")}, "'/v/log/one' -> '/tmp/one' one mv: can't rename '/none': No such file or directory no"},
			{"no way out of a mount", "c", "echo x > /n/../out; ls /n; cat /out", []runtime.Mount{host("/opt/app", "/n")}, "x"},
			{"dd", "d", "dd if=/dev/zero of=/n/f bs=1 count=1 conv=fsync 2>/dev/null; test -s /n/f && echo there; echo words | dd of=/n/g 2>/dev/null; cat /n/g", []runtime.Mount{host("/srv", "/n")}, "there words"},
		} {
			if got := b.sh(t, c.pod, c.script, c.mounts...); got != c.want {
				t.Errorf("%s: %q printed %q, want %q", c.what, c.script, got, c.want)
			}
		}
		b.rt.RemoveVolumes("a")
		if got := b.sh(t, "a", "ls /data", empty("/data")); got != "" {
			t.Errorf("an emptyDir outlives its pod, with %q", got)
		}
	})
}

// TestSharedVolumeIsBounded: what pods write to the node has an end, also when they are gone.
func TestSharedVolumeIsBounded(t *testing.T) {
	host := runtime.Mount{Volume: "host", Path: "/n", HostPath: "/srv"}
	run(t, "10.244.1.0/24", func(b *bench) {
		fill := "i=0; while dd if=/dev/zero of=/n/$HOSTNAME-$i bs=1048576 count=1 2>/dev/null; do i=$((i+1)); done; echo $i"
		if got := b.sh(t, "a", fill, host); got != "15" {
			t.Errorf("%s files of a MiB have room, want 15", got)
		}
		if got := b.sh(t, "b", fill+"; echo x > /tmp/own && echo and", host); got != "0 and" {
			t.Errorf("another pod finds room for %s, want 0, and its own disk as it was", got)
		}
		if got := b.sh(t, "c", "rm -r /n; touch /n/f && ls /n", host); got != "f" {
			t.Errorf("after all is removed: %q", got)
		}
	})
}

// TestAgnhost: the image of the end-to-end tests does what its first argument says.
func TestAgnhost(t *testing.T) {
	run(t, "10.244.1.0/24", func(b *bench) {
		for _, c := range []struct {
			args string
			port int
			path string
			code int
			body string
		}{
			{"serve-hostname", 9376, "/", 200, "web"},
			{"serve-hostname --port=80", 80, "/any", 200, "web"},
			{"test-webserver", 80, "/localhost.crt", 200, "the certificate of localhost\n"},
			{"test-webserver --port 8080", 8080, "/none", 404, "404 page not found\n"},
			{"pause", 8080, "/", 0, ""},
			{"netexec --http-port=81", 81, "/", 200, "hello from web\n"},
		} {
			id, err := b.start("web", runtime.ContainerConfig{Image: "registry.k8s.io/e2e-test-images/agnhost:2.53", Args: strings.Fields(c.args)})
			if err != nil {
				t.Fatal(err)
			}
			b.t.Sleep(time.Second)
			ip, _ := b.rt.AddressOf("demo", "web")
			if a := b.rt.Connect(ip, c.port, c.path); a.Code != c.code || a.Body != c.body {
				t.Errorf("%s answers %d %q, want %d %q", c.args, a.Code, a.Body, c.code, c.body)
			}
			con, _ := b.rt.Container(id)
			if err := b.rt.StopPodSandbox(b.t, con.SandboxID); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestCommandsCalculate(t *testing.T) {
	run(t, "10.244.1.0/24", func(b *bench) {
		for script, want := range map[string]string{
			"expr 7 % 2; expr 6 / 2; expr 2 \\* 5":                                          "1 3 10",
			"expr 3 \\> 2; expr a = b; expr 1 / 0":                                          "1 0 expr: division by zero",
			"expr 4 - 4 || echo zero":                                                       "0 zero",
			"expr a + 1; expr 1 2":                                                          "expr: non-numeric argument expr: syntax error",
			"if [[ -r /data/foo ]]; then echo yes; else echo no; fi":                        "no",
			"n=0; for i in 1 2 3 4 5 6 7 8; do n=$(( n + $RANDOM / 32768 )); done; echo $n": "0",
			"test $RANDOM -ne $RANDOM && echo differ":                                       "differ",
		} {
			if got := b.sh(t, "calc", script); got != want {
				t.Errorf("%q printed %q, want %q", script, got, want)
			}
		}
	})
}
