package apiserver

import (
	"fmt"
	"time"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// posted is a body on its way to a webhook's server and back.
type posted struct {
	url      string
	deadline time.Duration
	sent     *remote.Call
	refused  error // it could not be sent
}

// post sends a body to a webhook, because of an event. What goes wrong on the way is
// told by answer.
func (h *hooks) post(t *sim.Task, why trace.ID, cfg *registrationv1.WebhookClientConfig, timeout time.Duration, body []byte) *posted {
	p := &posted{deadline: t.Elapsed() + timeout}
	to, host, path, err := h.resolve(cfg)
	p.url = host + path + "?timeout=" + timeout.String()
	if p.refused = err; err == nil {
		t.SetCauses(why)
		p.sent, p.refused = to.send(t, h.s, path, body)
	}
	return p
}

// answer waits for the HTTP answer and reads it into an object; answered is the event
// of it, zero if there is none.
func (p *posted) answer(t *sim.Task, codec runtime.Codec, into runtime.Object) (answered trace.ID, err error) {
	a, err := hear(t, p.sent, p.refused, p.deadline, p.url)
	if err == nil {
		err = a.into(codec, into)
	}
	return a.event, err
}

// Webhooks are servers that webhooks lead to, by name (package webhook).
type Webhooks interface {
	// Host is the name of the server that a host name leads to; "" for nobody.
	Host(host string) string
	// Image is the name of the server that runs from an image; "" for none.
	Image(image string) string
	// Send posts a body to a path of a server; nil if nobody listens there.
	Send(t *sim.Task, name, path string, body []byte) *remote.Call
}

// hookServer is where a webhook's address leads.
type hookServer struct {
	name    string // of the simulated server; "" for nobody
	address string // dialled
}

func (to hookServer) send(t *sim.Task, s *Server, path string, body []byte) (*remote.Call, error) {
	if to.name != "" && s.cfg.Webhooks != nil {
		if sent := s.cfg.Webhooks.Send(t, to.name, path, body); sent != nil {
			return sent, nil
		}
	}
	return nil, fmt.Errorf("dial tcp %s: connect: connection refused", to.address)
}
