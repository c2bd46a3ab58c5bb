package apiserver

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// authenticate is the first stage: who is it? (apiserver
// pkg/endpoints/filters/authentication.go WithAuthentication). The components of
// this process carry their identity with them, as if by certificate; what comes
// from outside with credentials goes along the row of authenticators.
func (c *call) authenticate() (authn.User, error) {
	const stage = trace.StageAuthentication
	switch r := c.Req; {
	case r.User != nil && !r.Kubeconfig:
		u := *r.User
		if p := c.s.authenticators.Expiry.Outdated(u, c.Task.Now()); p != nil {
			return authn.User{}, c.unproven(p)
		}
		u.Groups = u.WithAuthenticated()
		c.Pass(stage, "x509", "The client is "+u.Name+r.User.OfGroups()+".", nil)
		return u, nil
	case r.Kubeconfig || r.Token != "" || len(r.Certificates) > 0:
		return c.prove(r.Credentials())
	case !c.s.issuers.MayBeAnonymous(r.URL()):
		c.s.audit.Refused(&c.Scope, c.Req)
		return authn.User{}, c.Refuse(stage, authn.ByOIDC, apierrors.NewUnauthorized("Unauthorized"))
	}
	c.Pass(stage, "anonymous", "The client shows no identity, so it is "+authn.Anonymous+".", nil)
	return authn.User{Name: authn.Anonymous, Groups: []string{authn.Unauthenticated}}, nil
}

// prove asks the authenticators in their order until one knows the credentials.
// Who shows credentials that nobody vouches for is refused, and not anonymous. The
// client is told nothing of the reason; the trace is (pkg/kubeapiserver/authenticator/config.go).
func (c *call) prove(shown *authn.Credentials) (authn.User, error) {
	p := c.s.authenticators.Authenticate(c.Ask(), shown)
	c.Hear(p.Answered)
	if p.User == nil {
		return authn.User{}, c.unproven(p)
	}
	u := *p.User
	u.Groups = u.WithAuthenticated()
	note := "The bearer token belongs to "
	if p.By == authn.ByCertificate {
		note = "The client certificate is of "
	}
	st := c.NewStage()
	*st = trace.Stage{
		Request: c.Number, Stage: trace.StageAuthentication, By: p.By, Verdict: "pass", Proof: &trace.Proof{User: u.Name, Tried: p.Tried},
		Note: note + p.User.Name + p.User.OfGroups() + ".",
	}
	c.Tell(st)
	return u, nil
}

// unproven refuses the request: nobody vouches for its sender.
func (c *call) unproven(p *authn.Proof) error {
	const stage = trace.StageAuthentication
	c.s.audit.Refused(&c.Scope, c.Req)
	err := apierrors.NewUnauthorized("Unauthorized")
	c.Refused = stage
	causes := c.Because()
	if !p.Fault.IsZero() {
		causes = append(causes, p.Fault)
	}
	c.Last = c.Task.Emit(trace.Event{Kind: trace.RequestStage, Object: c.Ref, Causes: causes, Payload: &trace.Stage{
		Request: c.Number, Stage: stage, By: p.By, Verdict: "refuse", Code: int(err.ErrStatus.Code), Proof: &trace.Proof{Tried: p.Tried},
		Note: err.ErrStatus.Message + ": " + p.Why,
	}})
	return err
}

// Access says whether the sender of a request for no resource (/api, /metrics) may
// have the path, or that of one for a resource that is not served may ask for it:
// nil, 401 or 403. Such requests pass no other stages here, and
// leave nothing in the trace.
func (s *Server) Access(t *sim.Task, req *request.Request, verb, path string) error {
	if req.User == nil && req.Token == "" && len(req.Certificates) == 0 && !s.issuers.MayBeAnonymous(path) {
		return apierrors.NewUnauthorized("Unauthorized")
	}
	u, ok := s.authenticators.Sender(t, req.Credentials())
	if !ok {
		return apierrors.NewUnauthorized("Unauthorized")
	}
	if as := req.Impersonate; as != nil {
		for _, a := range authz.Impersonating(as, u) {
			if d := s.authorizers.DecideFor(t, a); !d.Allowed {
				return authz.Forbidden(a, d)
			}
		}
		u = as.Identity()
	}
	if req.Resource.Resource != "" {
		a := authz.AttributesOf(req, u)
		if d := s.authorizers.DecideFor(t, a); !d.Allowed {
			return authz.Forbidden(a, d)
		}
		return nil
	}
	a := authz.Attributes{User: u, Verb: verb, Path: path}
	if d := s.authorizers.DecideFor(t, a); !d.Allowed {
		if d.Err != nil {
			return authz.Undecided(path, d.Err)
		}
		return authz.Forbidden(a, d)
	}
	return nil
}

// AuditAnswered writes of a request that was answered before the pipeline: one for no
// resource, whose Resource is empty and whose Path says what it was for, or one that
// the router refused. status is the answer where it is a Status, else nil.
func (s *Server) AuditAnswered(t *sim.Task, req *request.Request, code int, status *metav1.Status) {
	if !s.audit.On() {
		return
	}
	on := &request.Scope{Task: t, Began: t.Elapsed()}
	user, ok := s.authenticators.Sender(t, req.Credentials())
	if !ok {
		s.audit.Refused(on, req)
		return
	}
	s.audit.AnsweredBefore(on, req, user, func() authz.Decision {
		path, _, _ := strings.Cut(req.URL(), "?")
		a := authz.Attributes{User: user, Verb: req.Verb, Path: path}
		if req.Resource.Resource != "" {
			a = authz.AttributesOf(req, user)
		}
		return s.authorizers.DecideFor(t, a)
	}, code, status)
}

// Audits reports whether anything is written of requests.
func (s *Server) Audits() bool { return s.audit.On() }
