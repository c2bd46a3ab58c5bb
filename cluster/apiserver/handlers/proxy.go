package handlers

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	netutils "k8s.io/utils/net"

	"kviz/cluster/apiserver/request"
	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Dial opens a connection from the server's machine to an address of the cluster's
// network. An error is a *[remote.DialError].
type Dial func(t *sim.Task, address string, limit time.Duration) (to remote.Connection, connected trace.ID, err error)

// Backends are what is behind the cluster's Services.
type Backends interface {
	// Backend is the address of a ready pod behind a Service's port, which is named by its
	// number or its name; "" for the port without a name.
	Backend(namespace, service, port string) (address string, err error)
}

// dialLimit is how long a connection to a pod may take (net.Dialer in the transport of
// cmd/kube-apiserver/app CreateProxyTransport).
const dialLimit = 30 * time.Second

// proxyPod leads to a port of a pod: NAME, NAME:PORT or SCHEME:NAME:PORT
// (pkg/registry/core/pod ResourceLocation).
func (h *Handlers) proxyPod(c *Call, o *corev1.PodProxyOptions) *request.Response {
	scheme, name, port, valid := utilnet.SplitSchemeNamePort(c.Req.Name)
	if !valid {
		return &request.Response{Err: c.Refuse(trace.StageStorage, "", apierrors.NewBadRequest(fmt.Sprintf("invalid pod request %q", c.Req.Name)))}
	}
	return h.toPod(c, name, func(pod *corev1.Pod) *request.Response {
		for i := range pod.Spec.Containers {
			if ports := pod.Spec.Containers[i].Ports; port == "" && len(ports) > 0 {
				port = strconv.Itoa(int(ports[0].ContainerPort))
			}
		}
		at := ""
		if len(pod.Status.PodIPs) > 0 {
			at = pod.Status.PodIPs[0].IP
		}
		if ip := netutils.ParseIPSloppy(at); ip == nil || !ip.IsGlobalUnicast() {
			return &request.Response{Err: c.Refuse(trace.StageStorage, "", apierrors.NewBadRequest("address not allowed"))}
		}
		if port != "" {
			at = net.JoinHostPort(at, port)
		}
		return h.proxy(c, "pod "+pod.Name, &url.URL{Scheme: scheme, Host: at}, o.Path)
	})
}

// proxyService leads to a pod behind a Service's port
// (pkg/registry/core/service/storage ResourceLocation).
func (h *Handlers) proxyService(c *Call, o *corev1.ServiceProxyOptions) *request.Response {
	scheme, name, port, valid := utilnet.SplitSchemeNamePort(c.Req.Name)
	err := error(apierrors.NewBadRequest(fmt.Sprintf("invalid service request %q", c.Req.Name)))
	at := ""
	if valid {
		at, err = h.Backends.Backend(c.Req.Namespace, name, port)
	}
	if err != nil {
		return &request.Response{Err: c.Refuse(trace.StageStorage, "", err)}
	}
	return h.proxy(c, "Service "+name, &url.URL{Scheme: scheme, Host: at}, o.Path)
}

// proxy is the answer to both.
func (h *Handlers) proxy(c *Call, by string, to *url.URL, path string) *request.Response {
	if to.Scheme == "" {
		to.Scheme = "http"
	}
	to.Path = utilnet.JoinPreservingTrailingSlash(to.Path, path)
	c.Pass(trace.StageStorage, by, fmt.Sprintf("The request is sent on to %s.", to), nil)
	why := c.Last
	return &request.Response{Proxy: &request.Proxy{Location: to, Send: func(t *sim.Task, r *remote.Request) (remote.Answer, error) {
		t.SetCauses(why)
		return h.send(t, to, r)
	}}}
}

// send sends a request to a pod, as Go's HTTP client does.
func (h *Handlers) send(t *sim.Task, to *url.URL, r *remote.Request) (remote.Answer, error) {
	at := to.Host
	if to.Port() == "" {
		at = net.JoinHostPort(strings.Trim(at, "[]"), map[string]string{"http": "80", "https": "443"}[to.Scheme])
	}
	conn, connected, err := h.dial(t, at)
	if err != nil {
		return remote.Answer{}, fmt.Errorf("dial tcp %s: %w", at, err)
	}
	if !connected.IsZero() {
		t.SetCauses(connected)
	}
	switch secure := to.Scheme == "https"; {
	case secure && !conn.TLS():
		return remote.Answer{}, errors.New("http: server gave HTTP response to HTTPS client")
	case !secure && conn.TLS():
		return remote.Answer{Code: http.StatusBadRequest, Body: []byte("Client sent an HTTP request to an HTTPS server.\n")}, nil
	}
	return conn.Serve(t, r)
}

func (h *Handlers) dial(t *sim.Task, at string) (remote.Connection, trace.ID, error) {
	if h.Dial == nil {
		return nil, trace.ID{}, &remote.DialError{Reason: "no route to host"}
	}
	return h.Dial(t, at, dialLimit)
}
