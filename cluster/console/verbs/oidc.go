package verbs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"kviz/cluster/idp"
	"kviz/cluster/sim"
)

// oidcVerb is kviz oidc: what somebody does in a browser at the simulated identity
// provider.
func oidcVerb(ctx context.Context, inv *use, args []string) int {
	if len(args) == 0 {
		return providerState(inv)
	}
	flags := pflag.NewFlagSet("oidc", pflag.ContinueOnError)
	flags.SetOutput(inv.Err)
	flags.Usage = func() {}
	groups := flags.StringSlice("group", nil, "")
	audiences := flags.StringSlice("audience", nil, "")
	ttl := flags.Duration("ttl", idp.TTL, "")
	claims := flags.StringArray("claim", nil, "")
	if err := flags.Parse(args); err != nil || flags.NArg() != 2 || flags.Arg(0) != "login" || flags.Arg(1) == "" || *ttl < time.Second {
		return inv.badUse()
	}
	l := idp.Login{User: flags.Arg(1), Groups: *groups, Audiences: *audiences, TTL: *ttl, Claims: map[string]any{}}
	for _, c := range *claims {
		name, value, ok := strings.Cut(c, "=")
		if !ok || name == "" {
			return inv.did(fmt.Errorf("--claim wants NAME=VALUE, not %q", c))
		}
		var v any
		if json.Unmarshal([]byte(value), &v) != nil {
			v = value // a word is a string
		}
		l.Claims[name] = v
	}
	var token string
	err := inv.administer(ctx, "oidc login", func(t *sim.Task, plane *ControlPlane) (err error) {
		token, err = plane.Provider.Login(t, l)
		return err
	})
	if err == nil {
		fmt.Fprintln(inv.Out, token)
	}
	return inv.did(err)
}

// providerState is kviz oidc alone.
func providerState(inv *use) int {
	plane := inv.cfg.ControlPlane
	if plane == nil {
		return inv.did(errNoPlane)
	}
	var st idp.State
	if err := inv.Kernel.Do(func() { st = plane.Provider.State() }); err != nil {
		return inv.did(err)
	}
	running := "runs"
	if !st.Up {
		running = "does not run; it begins when it is asked for the first time, unless it was stopped"
	}
	fmt.Fprintf(inv.Out, "issuer: %s (simulated), %s\n", idp.Issuer, running)
	fmt.Fprintf(inv.Out, "audience of its tokens unless a login says otherwise: %s\n", idp.Audience)
	fmt.Fprintf(inv.Out, "%s signs; published:\n", st.Key)
	for _, id := range st.Keys {
		fmt.Fprintf(inv.Out, "  %s\n", id)
	}
	return 0
}
