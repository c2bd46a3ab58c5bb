package serve

import (
	"encoding/json"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditapi "k8s.io/apiserver/pkg/apis/audit"

	"kviz/cluster/apiserver/request"

	"kviz/cluster/sim"
)

// auditor is the audit log of the answers that the edge gives itself.
type auditor interface {
	Audits() bool
	AuditAnswered(t *sim.Task, req *request.Request, code int, status *metav1.Status)
}

// noted is an answer that remembers what it was, for the audit log.
type noted struct {
	http.ResponseWriter
	code   int
	status *metav1.Status // where the answer is one
}

// WriteHeader is http.ResponseWriter.
func (n *noted) WriteHeader(code int) {
	if n.code == 0 {
		n.code = code
	}
	n.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController.
func (n *noted) Unwrap() http.ResponseWriter { return n.ResponseWriter }

// audit writes an answer that was given without the pipeline into the audit log: the
// filter that does it upstream is before the router and hears of every request
// (apiserver pkg/server/config.go DefaultBuildHandlerChain). It writes when the answer
// has been given, and both stages at once.
func (h *Handler) audit(r *http.Request, req *request.Request, answer *noted) {
	on := false
	if err := h.cfg.Kernel.Do(func() {
		api := h.cfg.API()
		on = api != nil && api.Audits()
	}); err != nil || !on {
		return
	}
	caller := h.caller(r, req)
	req.Client, req.AuditID, req.UserAgent, req.SourceIPs = caller.Client, r.Header.Get(auditapi.HeaderAuditID), r.UserAgent(), sourceIPs(r)
	if caller.Process != nil {
		req.Lane = caller.Process.Lane
	}
	if req.Verb == "" {
		req.Verb = strings.ToLower(r.Method)
	}
	if req.Path == "" {
		req.Path = r.URL.RequestURI()
	}
	code := answer.code
	if code == 0 {
		code = http.StatusOK
	}
	_ = h.cfg.Kernel.Call(r.Context(), caller.Process, "audit", func(t *sim.Task) { // else the simulation has stopped
		h.audited(t, req, code, answer.status)
	}, func() {
		in := h.requested(req, caller)
		in.Code = code
		if answer.status != nil {
			in.Status, _ = json.Marshal(answer.status) // plain data
		}
		h.enter(inputAudit, in)
	})
}

func (h *Handler) audited(t *sim.Task, req *request.Request, code int, status *metav1.Status) {
	if api := h.cfg.API(); api != nil {
		api.AuditAnswered(t, req, code, status)
	}
}
