package apiserver

import (
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// authenticate is the first stage: who is it? (apiserver
// pkg/endpoints/filters/authentication.go WithAuthentication). The components of
// this process carry their identity with them, as if by certificate; what comes
// from outside with credentials goes along the row of authenticators.
func authenticate(c *call) error {
	const stage = trace.StageAuthentication
	switch r := c.req; {
	case r.User != nil && !r.Kubeconfig:
		c.user = *r.User
		if p := c.s.outdated(c.user, c.Task.Now()); p != nil {
			return c.unproven(p)
		}
		c.identified()
		c.Pass(stage, "x509", "The client is "+c.user.Name+describeGroups(r.User.Groups)+".", nil)
	case r.Kubeconfig || r.Token != "" || len(r.Certificates) > 0:
		return c.prove()
	case !c.s.issuers.config.MayBeAnonymous(r.path()):
		c.auditRefused()
		return c.Refuse(stage, byOIDC, apierrors.NewUnauthorized("Unauthorized"))
	default:
		c.user = authn.User{Name: authn.Anonymous, Groups: []string{authn.Unauthenticated}}
		c.Pass(stage, "anonymous", "The client shows no identity, so it is "+authn.Anonymous+".", nil)
	}
	return nil
}

// prove asks the authenticators in their order until one knows the credentials.
// Who shows credentials that nobody vouches for is refused, and not anonymous. The
// client is told nothing of the reason; the trace is (pkg/kubeapiserver/authenticator/config.go).
func (c *call) prove() error {
	const stage = trace.StageAuthentication
	c.Task.SetCauses(c.Last)
	p := c.s.credentials(c.Task, c.req)
	c.heard(p)
	if p.user == nil {
		return c.unproven(p)
	}
	c.user = *p.user
	c.identified()
	note := "The bearer token belongs to "
	if p.by == byCertificate {
		note = "The client certificate is of "
	}
	st := c.NewStage()
	*st = trace.Stage{
		Request: c.Number, Stage: stage, By: p.by, Verdict: "pass", Proof: &trace.Proof{User: c.user.Name, Tried: p.tried},
		Note: note + p.user.Name + describeGroups(p.user.Groups) + ".",
	}
	c.Tell(st)
	return nil
}

// unproven refuses the request: nobody vouches for its sender.
func (c *call) unproven(p *proof) error {
	const stage = trace.StageAuthentication
	c.user = authn.User{}
	c.auditRefused()
	err := apierrors.NewUnauthorized("Unauthorized")
	c.Refused = stage
	causes := c.Because()
	if !p.fault.IsZero() {
		causes = append(causes, p.fault)
	}
	c.Last = c.Task.Emit(trace.Event{Kind: trace.RequestStage, Object: c.Ref, Causes: causes, Payload: &trace.Stage{
		Request: c.Number, Stage: stage, By: p.by, Verdict: "refuse", Code: int(err.ErrStatus.Code), Proof: &trace.Proof{Tried: p.tried},
		Note: err.ErrStatus.Message + ": " + p.why,
	}})
	return err
}

// heard notes that a server outside was asked for a proof.
func (c *call) heard(p *proof) {
	if !p.answered.IsZero() {
		c.Last = p.answered
	}
}

// The authenticators by name, in the order in which they are asked.
const (
	byCertificate    = "x509"
	byKubeconfig     = "kubeconfig token" // of the file that kviz wrote for programs outside
	byTokenFile      = "token file"
	byServiceAccount = "service account token"
)

// proof is how far the authenticators have come with some credentials.
type proof struct {
	user      *authn.User // whom they prove; nil for nobody
	audiences []string    // for whom a token is meant, of those that were asked for
	by        string      // who knew them; of those that nobody knows, who has refused them
	why       string      // nobody does
	bad       []error     // found by those that the credentials are for
	tried     []string    // what each has said
	fault     trace.ID    // that made the credentials expire; zero where none has
	answered  trace.ID    // the newest answer of a server that was asked
}

// says notes an authenticator's answer. An error is of one that the credentials
// are for, and that finds them bad; with neither error nor user it does not know
// them.
func (p *proof) says(by string, u *authn.User, unknown string, err error) (done bool) {
	switch {
	case u != nil:
		p.user, p.by = u, by
		p.tried = append(p.tried, by+": it is "+u.Name)
		return true
	case err != nil:
		p.bad = append(p.bad, err)
		p.by, p.why = by, utilerrors.NewAggregate(p.bad).Error()
		p.tried = append(p.tried, by+": "+err.Error())
	default:
		p.tried = append(p.tried, by+": "+unknown)
	}
	return false
}

// credentials asks everybody about what the request shows. A bad certificate
// beside a good token is forgiven, as in upstream's union of authenticators.
func (s *Server) credentials(t *sim.Task, r *Request) *proof {
	p := &proof{why: "no authenticator knows the credentials"}
	if len(r.Certificates) == 0 {
		p.says(byCertificate, nil, "shows no certificate", nil)
	} else {
		u, err := s.ca.Identify(r.Certificates, t.Now())
		if err == nil {
			p.fault, err = s.expiry.certificate(u.Name, s.ca.SignedAt(r.Certificates[0]), t.Now())
		}
		if err != nil {
			p.says(byCertificate, nil, "", err)
		} else if p.says(byCertificate, &u, "", nil) {
			return p
		}
	}
	switch {
	case r.Kubeconfig:
		u := *r.User
		p.says(byKubeconfig, &u, "", nil)
	case r.Token != "":
		if p.by == "" {
			p.why = "no authenticator knows the token"
		}
		s.bearer(t, p, r.Token, apiAudiences)
	}
	return p
}

// Access says whether the sender of a request for no resource (/api, /metrics) may
// have the path, or that of one for a resource that is not served may ask for it:
// nil, 401 or 403. Such requests pass no other stages here, and
// leave nothing in the trace.
func (s *Server) Access(t *sim.Task, req *Request, verb, path string) error {
	if req.User == nil && req.Token == "" && len(req.Certificates) == 0 && !s.issuers.config.MayBeAnonymous(path) {
		return apierrors.NewUnauthorized("Unauthorized")
	}
	u, ok := s.sender(t, req)
	if !ok {
		return apierrors.NewUnauthorized("Unauthorized")
	}
	if as := req.Impersonate; as != nil {
		for _, a := range as.attributes(u) {
			if d := s.authorizers.DecideFor(t, a); !d.Allowed {
				return authz.Forbidden(a, d)
			}
		}
		u = as.identity()
	}
	if req.Resource.Resource != "" {
		a := attributesOf(req, u)
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

// sender is who sends a request that passes no stages; not ok where he shows
// credentials that nobody vouches for.
func (s *Server) sender(t *sim.Task, req *Request) (u authn.User, ok bool) {
	u = authn.User{Name: authn.Anonymous, Groups: []string{authn.Unauthenticated}}
	switch {
	case req.User != nil && !req.Kubeconfig:
		u = *req.User
		if s.outdated(u, t.Now()) != nil {
			return u, false
		}
	case req.Kubeconfig || req.Token != "" || len(req.Certificates) > 0:
		p := s.credentials(t, req)
		if p.user == nil {
			return u, false
		}
		u = *p.user
	}
	u.Groups = u.WithAuthenticated()
	return u, true
}

// identified adds the group of everyone with an identity.
func (c *call) identified() { c.user.Groups = c.user.WithAuthenticated() }

// withAuthenticated are a user's groups and that of everyone with an identity
// (apiserver pkg/authentication/group AuthenticatedGroupAdder).
func withAuthenticated(u authn.User) []string {
	if u.In(authn.Authenticated) || u.In(authn.Unauthenticated) {
		return u.Groups
	}
	return append(slices.Clip(u.Groups), authn.Authenticated)
}

func describeGroups(groups []string) string {
	switch len(groups) {
	case 0:
		return ""
	case 1:
		return " of group " + groups[0]
	}
	out := " of groups " + groups[0]
	for _, g := range groups[1:] {
		out += ", " + g
	}
	return out
}
