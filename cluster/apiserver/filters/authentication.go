package filters

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// Authenticate finds out who sends a request (authentication.go WithAuthentication). The
// components of this process carry their identity with them, as if by certificate;
// requests from outside with credentials go through the chain of authenticators.
func (f *Filters) Authenticate(on *request.Scope, req *request.Request) (authn.User, error) {
	const stage = trace.StageAuthentication
	switch {
	case req.User != nil && !req.Kubeconfig:
		u := *req.User
		if p := f.Authenticators.Expiry.Outdated(u, on.Task.Now()); p != nil {
			return authn.User{}, f.unproven(on, req, p)
		}
		u.Groups = u.WithAuthenticated()
		on.Pass(stage, authn.ByCertificate, "The client is "+u.Name+req.User.OfGroups()+".", nil)
		return u, nil
	case req.Kubeconfig || req.Token != "" || len(req.Certificates) > 0:
		return f.prove(on, req, req.Credentials())
	case !f.Authenticators.MayBeAnonymous(req.URL()):
		f.Auditor.Refused(on, req)
		return authn.User{}, on.Refuse(stage, authn.ByOIDC, apierrors.NewUnauthorized("Unauthorized"))
	}
	on.Pass(stage, "anonymous", "The client shows no identity, so it is "+authn.Anonymous+".", nil)
	return authn.User{Name: authn.Anonymous, Groups: []string{authn.Unauthenticated}}, nil
}

// prove asks the authenticators in their order until one knows the credentials.
// Who shows credentials that nobody vouches for is refused, and not anonymous. The
// client is told nothing of the reason; the trace is (pkg/kubeapiserver/authenticator/config.go).
func (f *Filters) prove(on *request.Scope, req *request.Request, shown *authn.Credentials) (authn.User, error) {
	p := f.Authenticators.Authenticate(on.Ask(), shown)
	on.Hear(p.Answered)
	on.Proven = p.Annotations
	if on.Warnings = append(on.Warnings, p.Warnings...); p.User == nil {
		return authn.User{}, f.unproven(on, req, p)
	}
	u := *p.User
	u.Groups = u.WithAuthenticated()
	note := "The bearer token belongs to "
	if p.By == authn.ByCertificate {
		note = "The client certificate is of "
	}
	st := on.NewStage()
	*st = trace.Stage{
		Request: on.Number, Stage: trace.StageAuthentication, By: p.By, Verdict: "pass", Proof: &trace.Proof{User: u.Name, Tried: p.Tried},
		Note: note + p.User.Name + p.User.OfGroups() + ".",
	}
	on.Tell(st)
	return u, nil
}

// unproven refuses the request: nobody vouches for its sender.
func (f *Filters) unproven(on *request.Scope, req *request.Request, p *authn.Proof) error {
	const stage = trace.StageAuthentication
	f.Auditor.Refused(on, req)
	err := apierrors.NewUnauthorized("Unauthorized")
	on.Refused = stage
	causes := on.Because()
	if !p.Fault.IsZero() {
		causes = append(causes, p.Fault)
	}
	on.Last = on.Task.Emit(trace.Event{Kind: trace.RequestStage, Object: on.Ref, Causes: causes, Payload: &trace.Stage{
		Request: on.Number, Stage: stage, By: p.By, Verdict: "refuse", Code: int(err.ErrStatus.Code), Proof: &trace.Proof{Tried: p.Tried},
		Note: err.ErrStatus.Message + ": " + p.Why,
	}})
	return err
}
