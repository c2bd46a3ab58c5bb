package apiserver

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/trace"
)

// authenticate is the first stage: who is it? (apiserver
// pkg/endpoints/filters/authentication.go WithAuthentication)
func authenticate(c *call) error {
	const stage = trace.StageAuthentication
	switch {
	case c.req.User != nil:
		c.user = *c.req.User
		c.identified()
		c.pass(stage, "x509", "The client is "+c.user.Name+describeGroups(c.req.User.Groups)+".", nil)
	case c.req.Token != "":
		u, by, err := c.s.authenticateToken(c.t, c.req.Token)
		if err != nil {
			c.auditRefused()
			return c.refuse(stage, by, apierrors.NewUnauthorized("Unauthorized"))
		}
		groups := u.Groups
		c.user = u
		c.identified()
		c.pass(stage, by, "The bearer token belongs to "+u.Name+describeGroups(groups)+".", nil)
	default:
		c.user = authn.User{Name: authn.Anonymous, Groups: []string{authn.Unauthenticated}}
		c.pass(stage, "anonymous", "The client shows no identity, so it is "+authn.Anonymous+".", nil)
	}
	return nil
}

// identified adds the group of everyone with an identity.
func (c *call) identified() {
	if c.user.In(authn.Authenticated) || c.user.In(authn.Unauthenticated) {
		return
	}
	c.user.Groups = append(c.user.Groups[:len(c.user.Groups):len(c.user.Groups)], authn.Authenticated)
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
