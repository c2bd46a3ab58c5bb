package apiserver

import (
	"fmt"
	"time"

	registrationv1 "k8s.io/api/admissionregistration/v1"

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

// answer is the body of the HTTP answer, or why there is none in the words of Go's
// HTTP client; answered is the event of it, zero if there is none.
func (p *posted) answer(t *sim.Task) (body []byte, answered trace.ID, err error) {
	return hear(t, p.sent, p.refused, p.deadline, p.url)
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
