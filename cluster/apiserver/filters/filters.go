// Package filters is what every request passes through before anything looks at what it asks
// for: who sends it, whom it impersonates, whether that user may (apiserver
// pkg/endpoints/filters). Each filter takes what it needs and returns what it found out; the
// pipeline decides their order. Two more have packages of their own, because they have
// state: auditing (package audit), and priority and fairness (package flowcontrol).
//
//	Authenticate   request, its credentials   → user
//	Impersonate    request, its sender        → user
//	Authorize      request, kind, user        → decision
//	Deadline       request                    → when it ends with 504
//
// Start reading at [Filters.Authenticate].
package filters

import (
	"kviz/cluster/apiserver/audit"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
)

// Filters are those of a server.
type Filters struct {
	Authenticators *authn.Authenticators
	Authorizers    *authz.Authorizers
	Auditor        *audit.Auditor
}
