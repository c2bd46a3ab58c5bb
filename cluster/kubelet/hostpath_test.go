package kubelet_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const hostPod = `
metadata: {name: NAME}
spec:
  volumes: [{name: host, hostPath: {path: PATH, type: TYPE}}]
  containers:
  - {name: app, image: busybox, command: [sh, -c, "sleep 3600"], volumeMounts: [{name: host, mountPath: /host}]}
`

// A hostPath volume is mounted if its path is what its type says, or can be made so; else the pod waits,
// in upstream's words, and starts once somebody has made what is missing.
func TestHostPathTypes(t *testing.T) {
	runStore(t, func(s *store) {
		write := func(name, at, typ string) {
			s.create(strings.NewReplacer("NAME", name, "PATH", at, "TYPE", typ).Replace(hostPod))
		}
		write("folder", "/var/log", "Directory")
		write("socket", "/var/run/containerd/containerd.sock", "Socket")
		write("device", "/dev/kmsg", "CharDevice")
		write("file", "/srv/lock", "FileOrCreate")
		for _, name := range []string{"folder", "socket", "device", "file"} {
			s.waitReady(name)
		}
		if w := s.warned(); len(w) > 0 {
			t.Errorf("warnings: %q", w)
		}
		for _, c := range []struct{ at, typ, want string }{
			{"/data", "Directory", "/data is not a directory"},
			{"/srv/lock", "DirectoryOrCreate", "/srv/lock is not a directory"},
			{"/var/log", "File", "/var/log is not a file"},
			{"/dev/sdz", "BlockDevice", "/dev/sdz is not a block device"},
			{"/dev/null", "Socket", "/dev/null is not a socket file"},
			{"/dev/vda", "CharDevice", "/dev/vda is not a character device"},
		} {
			before := len(s.warned())
			write("wrong", c.at, c.typ)
			s.t.Sleep(3 * time.Second)
			want := `FailedMount: MountVolume.SetUp failed for volume "host" : hostPath type check failed: ` + c.want
			if w := s.warned(); len(w) != before+1 || w[before] != want {
				t.Errorf("a %s at %s: the warnings are %q, want %q", c.typ, c.at, w[before:], want)
			}
			s.delete("wrong", 1)
			s.wait("it is gone", func() bool { return s.pod("wrong") == nil })
		}
		write("later", "/data", "Directory")
		s.t.Sleep(3 * time.Second)
		write("maker", "/data/below", "DirectoryOrCreate")
		s.waitReady("later")
	})
}

// Pods cannot make folders on a node without end.
func TestFoldersOfANodeAreBounded(t *testing.T) {
	runStore(t, func(s *store) {
		var err error
		n := 0
		for ; err == nil && n < 10000; n++ {
			err = s.rt.HostPath("/d"+strings.Repeat("x", n), corev1.HostPathDirectoryOrCreate)
		}
		if err == nil || !strings.Contains(err.Error(), "no space left on device") {
			t.Errorf("after %d folders: %v", n, err)
		}
		if err := s.rt.HostPath("/d", corev1.HostPathDirectory); err != nil {
			t.Errorf("a folder that was made: %v", err)
		}
	})
}
