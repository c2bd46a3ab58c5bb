package apiserver

import (
	"fmt"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/apiserver/webhook"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// authorize decides whether the user may do this (apiserver
// pkg/endpoints/filters/authorization.go; the Node authorizer, then RBAC).
func (c *call) authorize(user authn.User) error {
	a := authz.AttributesOf(c.Req, user)
	if c.Kind != nil && !c.Kind.Namespaced {
		a.Namespace = ""
	}
	if a.Name == "" {
		a.Name = c.Req.SelectedName()
	}
	d := authz.Decision{Allowed: true, Reason: "It is a part of a request that was allowed."}
	if !c.Req.Part {
		d = c.s.authorizers.Decide(&c.Scope, a)
	}
	c.record.Access(d)
	st := c.NewStage()
	*st = trace.Stage{Request: c.Number, Stage: trace.StageAuthorization, By: d.By, Verdict: "pass", Note: d.Reason, Asked: d.Asked}
	if d.Allowed {
		c.Tell(st)
		return nil
	}
	err := authz.Forbidden(a, d)
	if d.Err != nil {
		err = authz.Undecided(c.Req.URI(), d.Err)
	}
	status := request.StatusOf(err)
	st.Verdict, st.Note, st.Code = "refuse", status.Message, int(status.Code)
	c.Refused = trace.StageAuthorization
	c.Tell(st)
	return err
}

// authorizationConfig reads the file.
func (s *Server) authorizationConfig(file []byte) (config, error) {
	chain, lines, err := authz.ReadChain(file, s.authorizers.Authorizer, s.webhooks, virtualClock{s.k}, s.kubeconfigAt)
	if err != nil {
		return config{}, err
	}
	return config{
		lines: lines,
		use:   func(*sim.Task) { s.authorizers.Chain = chain },
		reuse: func(*sim.Task) error {
			if err := chain.MayFollow(s.authorizers.Chain); err != nil {
				return err
			}
			s.authorizers.Chain = chain
			return nil
		},
	}, nil
}

// kubeconfigAt reads a kubeconfig on the server's machine.
func (s *Server) kubeconfigAt(path string) (address string, err error) {
	file, err := s.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("stat %s: no such file or directory", path)
	}
	return webhook.ReadKubeconfig(file)
}
