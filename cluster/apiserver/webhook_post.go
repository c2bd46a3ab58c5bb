package apiserver

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/cluster/webhook"
)

// posted is a body on its way to a webhook's server and back.
type posted struct {
	url      string
	deadline time.Duration
	sent     *webhook.Call
	refused  error // it could not be sent
}

// post sends a body to a webhook, because of an event. What goes wrong on the way is
// told by answer.
func (h *hooks) post(t *sim.Task, why trace.ID, cfg *registrationv1.WebhookClientConfig, timeout time.Duration, body []byte) *posted {
	p := &posted{deadline: t.Elapsed() + timeout}
	to, host, path, err := h.resolve(cfg)
	p.url = host + path + "?timeout=" + timeout.String()
	if p.refused = err; err == nil {
		p.sent, p.refused = h.send(t, why, to, path, body)
	}
	return p
}

// answer is the body of the HTTP answer, or why there is none in the words of Go's
// HTTP client; answered is the event of it, zero if there is none.
func (p *posted) answer(t *sim.Task) (body []byte, answered trace.ID, err error) {
	if p.refused != nil {
		return nil, trace.ID{}, &url.Error{Op: "Post", URL: p.url, Err: p.refused}
	}
	body, code, err := p.sent.Wait(t, p.deadline)
	answered = p.sent.Answered()
	switch {
	case err != nil:
		return nil, answered, &url.Error{Op: "Post", URL: p.url, Err: err}
	case code != http.StatusOK:
		return nil, answered, apierrors.NewGenericServerResponse(code, http.MethodPost, schema.GroupResource{}, "", string(body), 0, true)
	case len(body) == 0:
		return nil, answered, &url.Error{Op: "Post", URL: p.url, Err: fmt.Errorf("0-length response with status code: %d and content type: %s", code, "application/json")}
	}
	return body, answered, nil
}

// hookServer is where a webhook's address leads.
type hookServer struct {
	name    string // of the simulated server; "" for nobody
	address string // dialled
}

func (h *hooks) send(t *sim.Task, why trace.ID, to hookServer, path string, body []byte) (*webhook.Call, error) {
	if to.name != "" && h.s.cfg.Webhooks != nil {
		t.SetCauses(why)
		if sent := h.s.cfg.Webhooks.Send(t, to.name, path, body); sent != nil {
			return sent, nil
		}
	}
	return nil, fmt.Errorf("dial tcp %s: connect: connection refused", to.address)
}
