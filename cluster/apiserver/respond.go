package apiserver

import (
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/audit"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// respond is the last stage: the answer goes back.
func respond(c *call, r *request.Response, auditor *audit.Auditor) {
	r.Warnings, r.Stage, r.Took = c.Warnings, c.Refused, c.Task.Elapsed()-c.Began
	r.Kind = c.Kind
	payload := &trace.Response{Request: c.Number, Verb: c.Req.Verb, Took: r.Took, Stage: c.Refused}
	if r.Err != nil {
		st := request.StatusOf(r.Err)
		r.Code = int(st.Code)
		payload.Reason, payload.Message = string(st.Reason), st.Message
	} else if r.Raw != nil {
		r.Code = r.Raw.Code
		if r.Code >= http.StatusBadRequest {
			payload.Message = strings.TrimSpace(string(r.Raw.Body))
		}
	} else if r.Code == 0 {
		r.Code = http.StatusOK
		if r.Created {
			r.Code = http.StatusCreated
		}
	}
	if st, ok := r.Object.(*metav1.Status); ok && r.Err == nil && st.Status == metav1.StatusFailure { // of an eviction with two budgets
		payload.Message = st.Message
	}
	payload.Code = r.Code
	r.AuditID, r.Flow = c.Req.AuditID, c.turn.Class()
	auditor.Answered(&c.Scope, c.record, r, c.Req.Verb == "watch" || c.connects())
	if r.Object != nil && r.Err == nil {
		payload.Object = trace.Obj(r.Traced())
	}
	causes := []trace.ID{c.Last}
	causes = append(causes, c.Commits...)
	c.Task.Emit(trace.Event{Kind: trace.RequestDone, Object: c.Ref, Causes: causes, Payload: payload})
}
