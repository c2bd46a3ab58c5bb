package authn

import (
	"crypto/x509"

	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Credentials are what a request shows.
type Credentials struct {
	// User is a component of this process, which carries its identity with it as if by
	// certificate; or, with Kubeconfig, a client with the token of the kubeconfig that
	// kviz wrote for programs outside.
	User         *User
	Kubeconfig   bool
	Token        string
	Certificates []*x509.Certificate // the client's, which it has the key of, then those that lead to the authority's
}

// Known reports whether the sender is a component of this process.
func (c *Credentials) Known() bool { return c.User != nil && !c.Kubeconfig }

// Shown reports whether there is something for the authenticators to judge.
func (c *Credentials) Shown() bool { return c.Kubeconfig || c.Token != "" || len(c.Certificates) > 0 }

// The authenticators by name, in the order in which they are asked.
const (
	ByCertificate    = "x509"
	ByKubeconfig     = "kubeconfig token" // of the file that kviz wrote for programs outside
	ByTokenFile      = "token file"
	ByServiceAccount = "service account token"
	ByBootstrap      = "bootstrap token"
	ByOIDC           = "OIDC"
	ByTokenWebhook   = "token webhook"
)

// APIAudiences are those of the API server itself: --api-audiences, by default the
// issuer of service account tokens.
var APIAudiences = []string{Issuer}

// Lister finds objects that credentials refer to; nil where there is none.
type Lister interface {
	Get(r client.Resource, namespace, name string) runtime.Object
}

// TokenAuthenticator knows one sort of tokens. With an error the token is of that sort
// and bad; without error and user it does not know it (authenticator.Token).
type TokenAuthenticator interface {
	AuthenticateToken(t *sim.Task, token string, audiences []string) (Answer, error)
}

// Answer is what an authenticator of tokens knows of one.
type Answer struct {
	User      *User
	Audiences []string
	Unknown   string   // without a user: why it has nothing to say
	Note      string   // with one: what else there is to say
	Answered  trace.ID // by a server that was asked
	Fault     trace.ID // that made it expire

	Annotations []Annotation // of the request in the audit log
	Warnings    []string     // for its sender
}

// Annotation is one of an audit event.
type Annotation struct{ Key, Value string }

// Everywhere is an answer of an authenticator that knows no audiences: its tokens are
// meant for the API server (authenticator.WrapAudienceAgnosticToken).
func Everywhere(u User, audiences []string) Answer {
	both := Intersect(APIAudiences, audiences)
	if len(both) == 0 {
		return Answer{Unknown: "it is asked for audiences that its tokens are not for"}
	}
	return Answer{User: &u, Audiences: both}
}

// Proof is how far the authenticators have come with some credentials.
type Proof struct {
	User      *User    // whom they prove; nil for nobody
	Audiences []string // for whom a token is meant, of those that were asked for
	By        string   // who knew them; of those that nobody knows, who has refused them
	Why       string   // nobody does
	Tried     []string // what each has said
	Fault     trace.ID // that made the credentials expire; zero where none has
	Answered  trace.ID // the newest answer of a server that was asked

	Annotations []Annotation // of the request in the audit log
	Warnings    []string     // for its sender

	bad []error // found by those that the credentials are for
}

// says notes an authenticator's answer. An error is of one that the credentials are
// for, and that finds them bad; with neither error nor user it does not know them.
func (p *Proof) says(by string, u *User, unknown string, err error) (done bool) {
	switch {
	case u != nil:
		p.User, p.By = u, by
		p.Tried = append(p.Tried, by+": it is "+u.Name)
		return true
	case err != nil:
		p.bad = append(p.bad, err)
		p.By, p.Why = by, utilerrors.NewAggregate(p.bad).Error()
		p.Tried = append(p.Tried, by+": "+err.Error())
	default:
		p.Tried = append(p.Tried, by+": "+unknown)
	}
	return false
}

// Authenticators are those of a server, in the order in which they are asked
// (pkg/kubeapiserver/authenticator/config.go).
type Authenticators struct {
	Authority *Authority
	Expiry    *Expiry
	Tokens    *TokenFiles
	Accounts  *AccountTokens
	Bootstrap *BootstrapTokens
	OIDC      TokenAuthenticator // nil where no issuer is configured
	Webhook   TokenAuthenticator // nil where none is
	// Anonymous says what may be requested without credentials; nil: everything
	// (apiserver pkg/authentication/request/anonymous).
	Anonymous func(url string) bool
}

// NewAuthenticators makes those of one server, which knows the static tokens given. What is
// signed, and what has expired before its time, is the same at all servers of a cluster.
func NewAuthenticators(authority *Authority, expiry *Expiry, keys *Keys, lister Lister, given map[string]User) *Authenticators {
	return &Authenticators{
		Authority: authority, Expiry: expiry, Tokens: &TokenFiles{Given: given},
		Accounts: NewAccountTokens(keys, expiry, lister), Bootstrap: NewBootstrapTokens(lister),
	}
}

// MayBeAnonymous reports whether a request may come without credentials.
func (a *Authenticators) MayBeAnonymous(url string) bool {
	return a.Anonymous == nil || a.Anonymous(url)
}

// Authenticate asks everybody about what a request shows. A bad certificate beside a
// good token is forgiven, as in upstream's union of authenticators.
func (a *Authenticators) Authenticate(t *sim.Task, c *Credentials) *Proof {
	p := &Proof{Why: "no authenticator knows the credentials"}
	if len(c.Certificates) == 0 {
		p.says(ByCertificate, nil, "shows no certificate", nil)
	} else {
		u, err := a.Authority.Identify(c.Certificates, t.Now())
		if err == nil {
			p.Fault, err = a.Expiry.certificate(u.Name, a.Authority.SignedAt(c.Certificates[0]), t.Now())
		}
		if err != nil {
			p.says(ByCertificate, nil, "", err)
		} else if p.says(ByCertificate, &u, "", nil) {
			return p
		}
	}
	switch {
	case c.Kubeconfig:
		u := *c.User
		p.says(ByKubeconfig, &u, "", nil)
	case c.Token != "":
		if p.By == "" {
			p.Why = "no authenticator knows the token"
		}
		a.bearer(t, p, c.Token, APIAudiences)
	}
	return p
}

// AuthenticateToken asks those who know tokens on behalf of audiences.
func (a *Authenticators) AuthenticateToken(t *sim.Task, token string, audiences []string) *Proof {
	p := &Proof{Why: "invalid bearer token"}
	a.bearer(t, p, token, audiences)
	return p
}

// bearer asks those who know tokens, the local ones before the remote ones.
func (a *Authenticators) bearer(t *sim.Task, p *Proof, token string, audiences []string) {
	for _, one := range []struct {
		by  string
		ask TokenAuthenticator
	}{{ByTokenFile, a.Tokens}, {ByServiceAccount, a.Accounts}, {ByBootstrap, a.Bootstrap}, {ByOIDC, a.OIDC}, {ByTokenWebhook, a.Webhook}} {
		if one.ask == nil {
			continue
		}
		answer, err := one.ask.AuthenticateToken(t, token, audiences)
		if !answer.Fault.IsZero() {
			p.Fault = answer.Fault
		}
		p.Annotations, p.Warnings = append(p.Annotations, answer.Annotations...), append(p.Warnings, answer.Warnings...)
		if !answer.Answered.IsZero() {
			p.Answered = answer.Answered
			t.SetCauses(p.Answered)
		}
		if p.says(one.by, answer.User, answer.Unknown, err) {
			p.Tried[len(p.Tried)-1] += answer.Note
			p.Audiences = answer.Audiences
			return
		}
	}
}

// Sender is who sends a request that does not go through the stages; not ok if no
// authenticator accepts its credentials. With it comes what the audit log is to say of them.
func (a *Authenticators) Sender(t *sim.Task, c *Credentials) (u User, notes []Annotation, ok bool) {
	u = User{Name: Anonymous, Groups: []string{Unauthenticated}}
	switch {
	case c.Known():
		u = *c.User
		if a.Expiry.Outdated(u, t.Now()) != nil {
			return u, nil, false
		}
	case c.Shown():
		p := a.Authenticate(t, c)
		notes = p.Annotations
		if p.User == nil {
			return u, notes, false
		}
		u = *p.User
	}
	u.Groups = u.WithAuthenticated()
	return u, notes, true
}

// Credentials are those that users from outside were given, as faults name them.
func (a *Authenticators) Credentials() []string {
	var out []string
	for _, user := range a.Authority.Clients() {
		out = append(out, "certificate/"+user)
	}
	return append(out, a.Expiry.accounts()...)
}

// TokenFiles are the static tokens: those that the server was made with, and those of a
// file.
type TokenFiles struct {
	Given map[string]User
	File  *TokenFile // nil where there is none
}

// AuthenticateToken is [TokenAuthenticator].
func (f *TokenFiles) AuthenticateToken(_ *sim.Task, token string, audiences []string) (Answer, error) {
	u, ok := f.File.User(token)
	if !ok {
		u, ok = f.Given[token]
	}
	switch {
	case !ok && f.File == nil && f.Given == nil:
		return Answer{Unknown: "there is none"}, nil
	case !ok:
		return Answer{Unknown: "not in it"}, nil
	}
	return Everywhere(u, audiences), nil
}
