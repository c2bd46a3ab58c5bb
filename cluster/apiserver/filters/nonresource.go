package filters

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/sim"
)

// What passes no pipeline: a request for no resource (/api, /metrics), which the edge
// answers itself, and one for a resource that is not served. It leaves nothing in the trace.

// Access says whether the sender of such a request may have the path, or ask for the
// resource: nil, 401 or 403.
func (f *Filters) Access(t *sim.Task, req *request.Request, verb, path string) error {
	shown := req.Credentials()
	if !shown.Known() && !shown.Shown() && !f.Authenticators.MayBeAnonymous(path) {
		return apierrors.NewUnauthorized("Unauthorized")
	}
	u, _, ok := f.Authenticators.Sender(t, shown)
	if !ok {
		return apierrors.NewUnauthorized("Unauthorized")
	}
	if as := req.Impersonate; as != nil {
		for _, a := range authz.Impersonating(as, u) {
			if d := f.Authorizers.DecideFor(t, a); !d.Allowed {
				return authz.Forbidden(a, d)
			}
		}
		u = as.Identity()
	}
	if req.Resource.Resource != "" {
		a := authz.AttributesOf(req, u)
		if d := f.Authorizers.DecideFor(t, a); !d.Allowed {
			return authz.Forbidden(a, d)
		}
		return nil
	}
	a := authz.Attributes{User: u, Verb: verb, Path: path}
	if d := f.Authorizers.DecideFor(t, a); !d.Allowed {
		if d.Err != nil {
			return authz.Undecided(path, d.Err)
		}
		return authz.Forbidden(a, d)
	}
	return nil
}

// AuditAnswered writes of such a request how it was answered: one for no
// resource, whose Resource is empty and whose Path says what it was for, or one that
// the router refused. status is the answer where it is a Status, else nil.
func (f *Filters) AuditAnswered(t *sim.Task, req *request.Request, code int, status *metav1.Status) {
	if !f.Auditor.On() {
		return
	}
	on := &request.Scope{Task: t, Began: t.Elapsed()}
	user, notes, ok := f.Authenticators.Sender(t, req.Credentials())
	on.Proven = notes
	if !ok {
		f.Auditor.Refused(on, req)
		return
	}
	f.Auditor.AnsweredBefore(on, req, user, func() authz.Decision {
		path, _, _ := strings.Cut(req.URL(), "?")
		a := authz.Attributes{User: user, Verb: req.Verb, Path: path}
		if req.Resource.Resource != "" {
			a = authz.AttributesOf(req, user)
		}
		return f.Authorizers.DecideFor(t, a)
	}, code, status)
}
