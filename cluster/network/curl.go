package network

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"kviz/cluster/remote"
	"kviz/cluster/sim"
)

// curl's exit codes.
const (
	curlOK          = 0
	curlBadURL      = 3
	curlNoHost      = 6
	curlNoConnect   = 7
	curlTimedOut    = 28
	curlUnsupported = 1
)

// Curl fetches a URL from a pod ("namespace/name"), or from the node itself if
// pod is empty, and gives what curl prints to stdout, its exit code, and what it
// prints to stderr. node may be empty if the pod is known. limit is --max-time,
// 0 for none. It is the runtime's Dialer.
func (n *Network) Curl(t *sim.Task, node, pod, rawurl string, limit time.Duration) (body string, exit int, stderr string) {
	if node == "" {
		node = n.nodeOf(pod)
	}
	from := From{Node: node, Pod: pod}
	return n.curl(rawurl, limit, func(req Request) Result { return n.Dial(t, from, req) })
}

// curl is a curl that connects by dial.
func (n *Network) curl(rawurl string, limit time.Duration, dial func(Request) Result) (body string, exit int, stderr string) {
	if !strings.Contains(rawurl, "://") {
		rawurl = "http://" + rawurl
	}
	u, err := url.Parse(rawurl)
	if err != nil || u.Hostname() == "" {
		return "", curlBadURL, "curl: (3) URL rejected: Malformed input to a URL function"
	}
	port := 80
	switch {
	case u.Port() != "":
		if port, err = strconv.Atoi(u.Port()); err != nil || port < 1 || port > 65535 {
			return "", curlBadURL, "curl: (3) URL rejected: Port number was not a decimal number between 0 and 65535"
		}
	case u.Scheme == "https":
		port = 443
	case u.Scheme != "http":
		return "", curlUnsupported, fmt.Sprintf("curl: (1) Protocol %q not supported", u.Scheme)
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	res := dial(Request{Host: u.Hostname(), Port: port, Path: path, Limit: limit})
	return curlSays(res, u.Hostname(), port, limit)
}

// Connect opens a connection from a pod to a port of an address or a name. It is the runtime's
// Dialer.
func (n *Network) Connect(t *sim.Task, node, pod, host string, port int) (remote.Connection, error) {
	switch res := n.Dial(t, From{Node: node, Pod: pod}, Request{Host: host, Port: port}); res.Outcome {
	case Answered:
		t.SetCauses(res.ID)
		return res.Answer, nil
	case Unresolvable:
		return nil, fmt.Errorf("dial tcp: lookup %s: no such host", host)
	case TimedOut:
		return nil, fmt.Errorf("dial tcp %s: %w", res.To, &remote.DialError{TimedOut: true})
	default:
		return nil, fmt.Errorf("dial tcp %s: %w", res.To, &remote.DialError{Reason: res.Outcome})
	}
}

// curlSays is how curl 8 reports an outcome.
func curlSays(res Result, host string, port int, limit time.Duration) (body string, exit int, stderr string) {
	ms := res.Took.Milliseconds()
	switch res.Outcome {
	case Answered:
		return res.Answer.Body, curlOK, ""
	case Unresolvable:
		return "", curlNoHost, "curl: (6) Could not resolve host: " + host
	case TimedOut:
		switch {
		case res.Answer.Accepted:
			return "", curlTimedOut, fmt.Sprintf("curl: (28) Operation timed out after %d milliseconds with 0 bytes received", ms)
		case limit > 0:
			return "", curlTimedOut, fmt.Sprintf("curl: (28) Connection timed out after %d milliseconds", ms)
		}
		return "", curlTimedOut, fmt.Sprintf("curl: (28) Failed to connect to %s port %d after %d ms: Could not connect to server", host, port, ms)
	}
	return "", curlNoConnect, fmt.Sprintf("curl: (7) Failed to connect to %s port %d after %d ms: Could not connect to server", host, port, ms)
}

// nodeOf finds the node a pod runs on, "" if none has it.
func (n *Network) nodeOf(pod string) string {
	ns, name, _ := strings.Cut(pod, "/")
	for _, node := range n.names() {
		if _, ok := n.nodes[node].listeners.AddressOf(ns, name); ok {
			return node
		}
	}
	return ""
}

// Lookup resolves a name from a pod, for nslookup.
func (n *Network) Lookup(t *sim.Task, node, pod, name string) ([]string, error) {
	if n.resolver == nil {
		return nil, errNoResolver
	}
	ns, _, _ := strings.Cut(pod, "/")
	return n.resolver.Resolve(t, node, ns, name)
}

// Connections lists a node's conntrack entries, oldest first.
func (n *Node) Connections() []Connection {
	out := make([]Connection, 0, len(n.conntrack))
	for _, c := range n.conntrack {
		out = append(out, *c)
	}
	sortConnections(out)
	return out
}
