// Package filters is what every request passes before it is anybody's business what it is
// for: who sends it, whom it acts as, whether he may (apiserver pkg/endpoints/filters). Each
// filter takes what it looks at and returns what it has found out; which comes after which
// is the pipeline's to say. Two more stand in packages of their own, as they have state:
// what is written of a request (package audit), and its turn (package flowcontrol).
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
