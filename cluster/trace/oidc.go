package trace

import "time"

// OIDCCalled is an answer of the simulated identity provider.
var OIDCCalled = define[OIDCCall]("oidc.call", GrainStage,
	"The identity provider answered: it gave a token to somebody who logged in, or told the API server of itself and its keys.",
	"The key that signs; the API server fetches the keys when a token comes whose key it does not know.",
	"apiserver plugin/pkg/authenticator/token/oidc/oidc.go New; github.com/coreos/go-oidc jwks.go remoteKeySet")

// OIDCCall is one request to the identity provider. It holds no token.
type OIDCCall struct {
	Method string // GET, POST
	Path   string
	Code   int           // HTTP status
	KeyID  string        `json:",omitempty"` // the key that signs: "key-2"
	Keys   []string      `json:",omitempty"` // the IDs of those that it tells
	User   string        `json:",omitempty"` // who logged in
	Until  time.Duration `json:",omitempty"` // the token holds, in virtual time
	Error  string        `json:",omitempty"`
}
