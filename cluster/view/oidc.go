package view

import (
	"fmt"

	"kviz/cluster/trace"
)

// Provider is the simulated identity provider, as it was asked so far.
type Provider struct {
	Logins int
	Last   *trace.OIDCCall // its newest answer; nil before the first
	Event  trace.ID        // of that
}

func init() {
	on(trace.OIDCCalled, func(b *Builder, e *trace.Event, p *trace.OIDCCall) {
		o := &b.s.Provider
		o.Last, o.Event = p, e.ID
		if p.User != "" {
			o.Logins++
		}
	})
	say(trace.OIDCCalled, func(_ *trace.Event, p *trace.OIDCCall) string {
		switch {
		case p.Error != "":
			return fmt.Sprintf("the identity provider refused %s %s: %s", p.Method, p.Path, p.Error)
		case p.User != "":
			return fmt.Sprintf("%s logged in at the identity provider and got a token signed with %s", p.User, p.KeyID)
		case len(p.Keys) > 0:
			return fmt.Sprintf("the identity provider told its public keys, %d of them; %s signs", len(p.Keys), p.KeyID)
		case p.Code >= 300:
			return fmt.Sprintf("the identity provider answered %s %s with %d", p.Method, p.Path, p.Code)
		}
		return "the identity provider told of itself: its issuer, and where its keys are"
	})
}
