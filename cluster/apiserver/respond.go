package apiserver

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// respond is the last stage: the answer goes back.
func (c *call) respond(r *Response) *Response {
	c.Pause(c.s.cfg.Cost.Respond)
	r.Warnings, r.Stage, r.Took = c.Warnings, c.Refused, c.Task.Elapsed()-c.Began
	r.Kind = c.kind
	payload := &trace.Response{Request: c.Number, Verb: c.req.Verb, Took: r.Took, Stage: c.Refused}
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
		if r.created {
			r.Code = http.StatusCreated
		}
	}
	payload.Code = r.Code
	r.AuditID, r.Flow = c.req.AuditID, c.class
	c.auditAnswer(r)
	if r.Object != nil && r.Err == nil {
		payload.Object = trace.Obj(r.traced())
	}
	causes := []trace.ID{c.Last}
	causes = append(causes, c.Commits...)
	c.Task.Emit(trace.Event{Kind: trace.RequestDone, Object: c.Ref, Causes: causes, Payload: payload})
	return r
}

// traced is an object for the trace equal to what goes to the caller, who may
// change his.
func (r *Response) traced() runtime.Object {
	if r.shared != nil {
		return r.shared
	}
	return r.Object.DeepCopyObject()
}

// own answers with the caller's own copy of a shared object.
func own(obj runtime.Object) *Response {
	return &Response{Object: obj.DeepCopyObject(), shared: obj}
}
