package runtime

import (
	"fmt"
	"strconv"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// PortForward is one connection of the CRI call: to a port at localhost in the network
// namespace of a pod's sandbox (containerd's sandbox_portforward.go).
func (r *Runtime) PortForward(t *sim.Task, podUID string, port int) (Answer, error) {
	st, err := r.PodStatus(podUID)
	if err != nil {
		return Answer{}, err
	}
	if len(st.Sandboxes) == 0 || !st.Sandboxes[0].Ready {
		return Answer{}, &Error{Code: "Unavailable", Desc: "sandbox container is not running"}
	}
	s := r.sandboxes[st.Sandboxes[0].ID]
	var open Answer
	_, err = r.call(t, trace.RuntimeCall{Pod: s.key(), Call: "PortForward", Arg: strconv.Itoa(port)}, 0, func() (string, error) {
		if open = r.connect(s, port, "", ""); !open.Accepted {
			return "", fmt.Errorf("failed to execute portforward in network namespace %q: failed to connect to localhost:%d inside namespace %q, IPv4: dial tcp4 127.0.0.1:%d: connect: connection refused IPv6 dial tcp6 [::1]:%d: connect: connection refused",
				"/var/run/netns/cni-"+short(s.ID), port, s.ID, port, port)
		}
		return "connected", nil
	})
	return open, err
}
