// Package webhook calls the external servers that the API server itself consults:
// admission and conversion webhooks, and reviewers (authenticators, authorizers, the
// backend of ImagePolicyWebhook). In Kubernetes that is apiserver's pkg/util/webhook. The
// servers are simulated (cluster/webhook): an address leads to one of them, and there are
// no sockets in between. Start reading at [Client.Post] and [Reviewer.Ask].
package webhook

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"time"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	simulated "kviz/cluster/webhook"
)

// Servers are those outside, by name (package cluster/webhook).
type Servers interface {
	// Host is the name of the server that a host name leads to; "" for nobody.
	Host(host string) string
	// Image is the name of the server that runs from an image; "" for none.
	Image(image string) string
	// Send posts a body to a path of a server; nil if nobody listens there.
	Send(t *sim.Task, name, path string, body []byte) *remote.Call
}

// Client sends to them.
type Client struct {
	servers  Servers  // nil where there are none
	services Services // of this cluster
	rand     *rand.Rand
}

// NewClient makes one. What is left to chance (the choice among endpoints, pauses, UIDs
// of reviews) is drawn from rand.
func NewClient(servers Servers, services Services, rand *rand.Rand) *Client {
	return &Client{servers, services, rand}
}

// NewUID draws the UID of a review.
func (c *Client) NewUID() types.UID { return object.NewUID(c.rand) }

// server is where a webhook's address leads.
type server struct {
	name    string // of the simulated server; "" for nobody
	address string // dialled
}

func (c *Client) send(t *sim.Task, to server, path string, body []byte) (*remote.Call, error) {
	if to.name != "" && c.servers != nil {
		if sent := c.servers.Send(t, to.name, path, body); sent != nil {
			return sent, nil
		}
	}
	return nil, fmt.Errorf("dial tcp %s: connect: connection refused", to.address)
}

// Posted is a body on its way to a webhook's server and back.
type Posted struct {
	url      string
	deadline time.Duration
	sent     *remote.Call
	refused  error // it could not be sent
}

// Post sends a body to a webhook, because of an event. What goes wrong on the way is
// told by Answer.
func (c *Client) Post(t *sim.Task, why trace.ID, cfg *registrationv1.WebhookClientConfig, timeout time.Duration, body []byte) *Posted {
	p := &Posted{deadline: t.Elapsed() + timeout}
	to, host, path, err := c.resolve(cfg)
	p.url = host + path + "?timeout=" + timeout.String()
	if p.refused = err; err == nil {
		t.SetCauses(why)
		p.sent, p.refused = c.send(t, to, path, body)
	}
	return p
}

// Answer waits for the HTTP answer and reads it into an object; answered is the event
// of it, zero if there is none.
func (p *Posted) Answer(t *sim.Task, codec runtime.Codec, into runtime.Object) (answered trace.ID, err error) {
	a, err := hear(t, p.sent, p.refused, p.deadline, p.url)
	if err == nil {
		err = a.into(codec, into)
	}
	return a.event, err
}

// resolve finds the server behind a webhook's client configuration, and the URL's
// beginning and path.
func (c *Client) resolve(cfg *registrationv1.WebhookClientConfig) (to server, host, path string, err error) {
	if cfg.URL != nil {
		u, err := url.Parse(*cfg.URL)
		if err != nil {
			return to, "", "", fmt.Errorf("Unparsable URL: %v", err) //nolint:staticcheck // upstream's words
		}
		host, path = u.Scheme+"://"+u.Host, u.Path
		if c.servers != nil {
			to.name = c.servers.Host(u.Hostname())
		}
		if to.name == "" {
			return to, host, path, fmt.Errorf("dial tcp: lookup %s: no such host", u.Hostname())
		}
		port := u.Port()
		if port == "" {
			port = "443"
		}
		to.address = net.JoinHostPort(simulated.Address, port)
		return to, host, path, nil
	}
	svc, port := cfg.Service, int32(443)
	if svc.Port != nil {
		port = *svc.Port
	}
	if svc.Path != nil {
		path = *svc.Path
	}
	host = "https://" + net.JoinHostPort(svc.Name+"."+svc.Namespace+".svc", strconv.Itoa(int(port)))
	to, err = c.resolveService(svc.Namespace, svc.Name, port)
	return to, host, path, err
}
