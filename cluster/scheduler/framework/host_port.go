package framework

import corev1 "k8s.io/api/core/v1"

// anyIP is the address of a host port that listens on all addresses.
const anyIP = "0.0.0.0"

type hostPort struct {
	ip       string
	protocol corev1.Protocol
	port     int32
}

// HostPortInfo is the host ports in use on a node. The zero value is none.
//
// Mirrors k8s.io/kube-scheduler/framework HostPortInfo.
type HostPortInfo struct{ used map[hostPort]bool }

func portOf(p corev1.ContainerPort) hostPort {
	h := hostPort{p.HostIP, p.Protocol, p.HostPort}
	if h.ip == "" {
		h.ip = anyIP
	}
	if h.protocol == "" {
		h.protocol = corev1.ProtocolTCP
	}
	return h
}

// Add takes a port.
func (h *HostPortInfo) Add(p corev1.ContainerPort) {
	if p.HostPort <= 0 {
		return
	}
	if h.used == nil {
		h.used = map[hostPort]bool{}
	}
	h.used[portOf(p)] = true
}

// Remove frees a port.
func (h *HostPortInfo) Remove(p corev1.ContainerPort) { delete(h.used, portOf(p)) }

// Conflicts reports whether the port cannot be taken: 0.0.0.0 stands for every
// address.
func (h *HostPortInfo) Conflicts(p corev1.ContainerPort) bool {
	if p.HostPort <= 0 || len(h.used) == 0 {
		return false
	}
	want := portOf(p)
	if want.ip != anyIP {
		return h.used[want] || h.used[hostPort{anyIP, want.protocol, want.port}]
	}
	for u := range h.used {
		if u.port == want.port && u.protocol == want.protocol {
			return true
		}
	}
	return false
}

// HostPorts lists the host ports of a pod's containers and sidecars.
//
// Mirrors pkg/scheduler/util/utils.go GetHostPorts.
func HostPorts(pod *corev1.Pod) []corev1.ContainerPort {
	var ports []corev1.ContainerPort
	take := func(c *corev1.Container) {
		for _, p := range c.Ports {
			if p.HostPort > 0 {
				ports = append(ports, p)
			}
		}
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			take(c)
		}
	}
	for i := range pod.Spec.Containers {
		take(&pod.Spec.Containers[i])
	}
	return ports
}
