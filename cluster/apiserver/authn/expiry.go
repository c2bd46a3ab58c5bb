package authn

import (
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	"kviz/cluster/trace"
)

// Credentials whose time is over before it is: a fault. A component's certificate is
// good for a year, and its tokens are renewed long before they expire; what happens
// when somebody has forgotten about that is worth seeing, and too far away to wait
// for. What is signed after the fault is good.

// Expiry is which credentials are over before their time. They are named as faults name
// them: "certificate/USER" is every client
// certificate of a user, "token/NAMESPACE/NAME" every token of a service account.
type Expiry struct {
	over    map[string]ended
	tokened []string // service accounts that tokens were issued for, in order
}

// ended is when the time of some credentials was over, and by which fault. Tokens
// tell only the second in which they were issued, so those of the same second that
// came later are known by their ID.
type ended struct {
	at    time.Time
	why   trace.ID
	later map[string]bool
}

// Expire lets the time of a credential be over, because of an event.
func (e *Expiry) Expire(credential string, now time.Time, why trace.ID) {
	if e.over == nil {
		e.over = map[string]ended{}
	}
	e.over[credential] = ended{at: now, why: why, later: map[string]bool{}}
}

// Renew has a credential be good again.
func (e *Expiry) Renew(credential string) { delete(e.over, credential) }

// accounts are the service accounts that tokens were issued for, as credentials.
func (e *Expiry) accounts() (out []string) {
	for _, account := range e.tokened {
		out = append(out, credentialOf(account))
	}
	return out
}

// Issued notes that there is a token of a service account.
func (e *Expiry) Issued(c *Claims) {
	account := c.Subject
	if over, ok := e.over[credentialOf(account)]; ok && c.IssuedAt == over.at.Unix() {
		over.later[c.ID] = true
	}
	if i, found := slices.BinarySearch(e.tokened, account); !found {
		e.tokened = slices.Insert(e.tokened, i, account)
	}
}

// credentialOf names what a component of this process shows: a service account its
// token, everybody else a certificate.
func credentialOf(user string) string {
	if namespace, name, ok := SplitUsername(user); ok {
		return "token/" + namespace + "/" + name
	}
	return "certificate/" + user
}

// certificate says whether a user's certificate has expired by a fault.
func (e *Expiry) certificate(user string, signed, now time.Time) (trace.ID, error) {
	over, ok := e.over["certificate/"+user]
	if !ok || signed.After(over.at) {
		return trace.ID{}, nil
	}
	return over.why, x509.CertificateInvalidError{Reason: x509.Expired, Detail: fmt.Sprintf(
		"current time %s is after %s", now.UTC().Format(time.RFC3339), over.at.UTC().Format(time.RFC3339))}
}

// token says whether a service account's token has expired by a fault.
func (e *Expiry) token(c *Claims) (trace.ID, error) {
	over, ok := e.over[credentialOf(c.Subject)]
	if !ok || c.IssuedAt > over.at.Unix() || over.later[c.ID] {
		return trace.ID{}, nil
	}
	return over.why, ErrExpired
}

// Outdated tells what is wrong with the credentials of a component of this process;
// nil where nothing is.
func (e *Expiry) Outdated(u User, now time.Time) *Proof {
	if len(e.over) == 0 {
		return nil
	}
	p := &Proof{}
	var err error
	if _, _, account := SplitUsername(u.Name); account {
		if p.Fault, err = e.token(&Claims{Subject: u.Name}); err != nil {
			p.says(ByCertificate, nil, "shows no certificate", nil)
			p.says(ByServiceAccount, nil, "", err)
			return p
		}
		return nil
	}
	if p.Fault, err = e.certificate(u.Name, time.Time{}, now); err != nil {
		p.says(ByCertificate, nil, "", err)
		return p
	}
	return nil
}
