package cluster_test

import (
	"regexp"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/raftstore/steady"
)

// jwt is a token as the identity provider makes them, without its signature's end.
var jwt = []varies{{regexp.MustCompile(`eyJ[\w-]+\.[\w-]+\.[\w-]+`), "(a token)"}}

// Whom the API server believes, and who decides what they may, as an administrator
// sees it who configures both, and last what images may be run: testdata/authn.txt is what is typed and what is seen, and
// authn-trace.txt what the trace tells of each request: every authenticator and every
// authorizer that was asked and what it said (inventory 54–57, 60), and what was
// asked of the servers outside.
func TestAuthenticatorsAndAuthorizers(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true, Nodes: 1})
		golden(t, "authn", typed(t, c, "testdata/authn.txt", jwt))
		var b strings.Builder
		shown := map[uint64]bool{} // the requests that came with credentials
		for _, e := range after(t, c, trace.ID{}) {
			switch p := e.Payload.(type) {
			case *trace.Stage:
				if p.Proof != nil {
					shown[p.Request] = true
				}
				if !shown[p.Request] || p.Proof == nil && p.Asked == nil {
					continue
				}
			case *trace.ServerConfig, *trace.OIDCCall, *trace.WebhookCall:
			default:
				continue
			}
			said, tried, _ := strings.Cut(view.Explain(e), "; asked in turn: ")
			b.WriteString(said + "\n")
			for _, by := range strings.Split(tried, "; ") {
				if by != "" {
					b.WriteString("    " + by + "\n")
				}
			}
		}
		golden(t, "authn-trace", b.String())
	})
}
