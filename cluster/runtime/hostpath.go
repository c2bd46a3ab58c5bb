package runtime

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Containers, How: simulated.Simplified,
	What: "a hostPath volume of a type finds the usual folders, sockets and devices of a Linux node, without what is in them, and beside those what pods of the node have made",
	Seen: "kubectl describe pod: hostPath type check failed",
})

// What every node has: the folders of a Linux system and of its kubelet and runtime, and what
// programs on nodes mount of it. Nothing is in them.
var (
	nodeFolders = []string{
		"/bin", "/boot", "/dev", "/dev/disk", "/dev/disk/by-id", "/dev/shm", "/etc/cni/net.d", "/etc/kubernetes/manifests", "/etc/kubernetes/pki",
		"/etc/ssl/certs", "/etc/systemd/system", "/home", "/lib/modules", "/lib64", "/media", "/mnt", "/opt/cni/bin", "/proc/sys/net", "/root",
		"/run/containerd", "/run/dbus", "/run/lock", "/run/log/journal", "/run/netns", "/run/systemd", "/run/udev", "/sbin", "/srv",
		"/sys/bus/pci", "/sys/class/net", "/sys/devices", "/sys/fs/bpf", "/sys/fs/cgroup", "/sys/kernel/debug", "/sys/kernel/security", "/sys/kernel/tracing", "/tmp",
		"/usr/bin", "/usr/lib", "/usr/libexec/kubernetes/kubelet-plugins/volume/exec", "/usr/local/bin", "/usr/sbin", "/usr/share", "/usr/share/ca-certificates", "/usr/src",
		"/var/cache", "/var/lib/cni", "/var/lib/containerd", "/var/lib/dbus", "/var/lib/kubelet/device-plugins", "/var/lib/kubelet/plugins",
		"/var/lib/kubelet/plugins_registry", "/var/lib/kubelet/pki", "/var/lib/kubelet/pods", "/var/log/containers", "/var/log/journal", "/var/log/pods", "/var/tmp",
	}
	nodeFiles = map[string]corev1.HostPathType{
		"/etc/fstab": corev1.HostPathFile, "/etc/group": corev1.HostPathFile, "/etc/hostname": corev1.HostPathFile, "/etc/hosts": corev1.HostPathFile,
		"/etc/localtime": corev1.HostPathFile, "/etc/machine-id": corev1.HostPathFile, "/etc/os-release": corev1.HostPathFile, "/etc/passwd": corev1.HostPathFile,
		"/etc/resolv.conf": corev1.HostPathFile, "/run/xtables.lock": corev1.HostPathFile, "/var/lib/kubelet/config.yaml": corev1.HostPathFile,
		"/run/containerd/containerd.sock": corev1.HostPathSocket, "/run/dbus/system_bus_socket": corev1.HostPathSocket,
		"/var/lib/kubelet/device-plugins/kubelet.sock": corev1.HostPathSocket,
		"/dev/fuse": corev1.HostPathCharDev, "/dev/kmsg": corev1.HostPathCharDev, "/dev/net/tun": corev1.HostPathCharDev, "/dev/null": corev1.HostPathCharDev,
		"/dev/random": corev1.HostPathCharDev, "/dev/tty": corev1.HostPathCharDev, "/dev/urandom": corev1.HostPathCharDev, "/dev/zero": corev1.HostPathCharDev,
		"/dev/vda": corev1.HostPathBlockDev,
	}
)

// mostFolders is how many folders pods can make on a node: each is a line in its disk's table.
const mostFolders = 4096

// HostPath checks what is at a path of the node against the type of a volume, and makes what the
// type says is to be made (pkg/volume/hostpath checkTypeInternal). A path without a type is made a folder, if
// nothing is there, when a container mounts it.
func (r *Runtime) HostPath(file string, typ corev1.HostPathType) error {
	at := resolved(file)
	is := r.at(at)
	switch typ {
	case corev1.HostPathUnset, corev1.HostPathDirectoryOrCreate:
		if is == "" {
			if len(r.made) >= mostFolders {
				return fmt.Errorf("mkdir %s: no space left on device", file)
			}
			r.made[at] = true
			is = corev1.HostPathDirectory
		}
	case corev1.HostPathFileOrCreate:
		if is == "" {
			if r.at(path.Dir(at)) != corev1.HostPathDirectory {
				return fmt.Errorf("open %s: no such file or directory", file)
			}
			if err := r.host.Write(at, ""); err != nil {
				return fmt.Errorf("open %s: no space left on device", file)
			}
			is = corev1.HostPathFile
		}
	}
	wants := map[corev1.HostPathType]string{
		corev1.HostPathDirectory: "directory", corev1.HostPathDirectoryOrCreate: "directory", corev1.HostPathFile: "file", corev1.HostPathFileOrCreate: "file",
		corev1.HostPathSocket: "socket file", corev1.HostPathCharDev: "character device", corev1.HostPathBlockDev: "block device",
	}[typ]
	switch {
	case typ == corev1.HostPathUnset, wants == kindOf(is):
		return nil
	case wants == "":
		return errors.New(string(typ) + " is an invalid volume type")
	}
	return fmt.Errorf("hostPath type check failed: %s is not a %s", file, wants)
}

// kindOf is what upstream calls what is at a path.
func kindOf(is corev1.HostPathType) string {
	switch is {
	case corev1.HostPathDirectory:
		return "directory"
	case corev1.HostPathFile:
		return "file"
	case corev1.HostPathSocket:
		return "socket file"
	case corev1.HostPathCharDev:
		return "character device"
	case corev1.HostPathBlockDev:
		return "block device"
	}
	return "nothing"
}

// at is what is at a path of the node; "" for nothing.
func (r *Runtime) at(file string) corev1.HostPathType {
	if is, known := nodeFiles[file]; known {
		return is
	}
	if _, written := r.host.Read(file); written {
		return corev1.HostPathFile
	}
	below := strings.TrimSuffix(file, "/") + "/"
	within := func(name string) bool { return name == file || strings.HasPrefix(name, below) }
	if r.made[file] || slices.ContainsFunc(nodeFolders, within) || slices.ContainsFunc(r.host.Names(), within) {
		return corev1.HostPathDirectory
	}
	for name := range r.made {
		if within(name) {
			return corev1.HostPathDirectory
		}
	}
	return ""
}

// resolved is a path without the links that every node has.
func resolved(file string) string {
	file = path.Clean(file)
	if file == "/var/run" || strings.HasPrefix(file, "/var/run/") {
		return strings.TrimPrefix(file, "/var")
	}
	return file
}
