// Package options has the files that flags of kube-apiserver name: which there are, how each
// is read, and what the server does when it loads one (pkg/kubeapiserver/options; for files
// that it watches, also the controllers that reload them). How a file gets onto the server's
// machine and when it is read is in package configfile; what its contents mean is up to the
// packages that use it (admission, authn, authz, oidc). Start reading at [Options.Files].
package options

import (
	"fmt"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/configfile"
	"kviz/cluster/apiserver/oidc"
	"kviz/cluster/apiserver/webhook"
	"kviz/cluster/quota"
	"kviz/cluster/sim"
)

// Options are the parts of a server that files configure.
type Options struct {
	// Admission makes the row of plugins as a configuration has them; nil for none.
	Admission func(admission.Configurations)
	Provider  oidc.Provider // nil where there is none
	// ReadFile reads a file of the server's machine.
	ReadFile func(name string) ([]byte, error)
	// What may be another when the server starts again.
	Process        *sim.Process
	Authenticators *authn.Authenticators
	Authorizers    *authz.Authorizers
	Webhooks       *webhook.Client

	issuers *oidc.Issuers // nil where there are none
}

// Files are the files of a server, which the trace calls server, in the order in which it
// reads them.
func (o *Options) Files(server string) *configfile.Files {
	return configfile.New(
		server,
		&configfile.File{
			Name: "admission", Flag: "--admission-control-config-file", Path: admission.File, Title: "admission",
			Read: o.admission, Without: func() { o.Admission(nil) },
		},
		&configfile.File{
			Name: "tokens", Flag: "--token-auth-file", Path: authn.TokenFilePath, Title: "static token",
			Read: o.tokens, Without: func() { o.Authenticators.Tokens.File = nil },
		},
		&configfile.File{
			Name: "authentication", Flag: "--authentication-config", Path: oidc.File, Title: "authentication",
			Read: o.authentication, Without: func() { o.use(nil) }, Reloads: true,
		},
		&configfile.File{
			Name: "token-webhook", Flag: "--authentication-token-webhook-config-file", Path: tokenWebhookFile, Title: "token webhook",
			Read: o.tokenWebhook, Without: func() { o.Authenticators.Webhook = nil },
		},
		&configfile.File{
			Name: "authorization", Flag: "--authorization-config", Path: authz.File, Title: "authorization",
			Read: o.authorization, Without: func() { o.Authorizers.Chain = nil }, Reloads: true,
		},
	)
}

// admission reads the file: a line a plugin.
func (o *Options) admission(file []byte) (configfile.Config, error) {
	plugins, err := admission.ReadConfigurations(file)
	if err != nil {
		return configfile.Config{}, err
	}
	return configfile.Config{Lines: plugins.Lines(), Use: func(*sim.Task) { o.Admission(plugins) }}, nil
}

// tokens reads the file.
func (o *Options) tokens(file []byte) (configfile.Config, error) {
	f, err := authn.ParseTokenFile(file)
	if err != nil {
		return configfile.Config{}, err
	}
	return configfile.Config{Lines: f.Lines(), Use: func(*sim.Task) { o.Authenticators.Tokens.File = f }}, nil
}

// authentication reads the file.
func (o *Options) authentication(file []byte) (configfile.Config, error) {
	c, err := oidc.Parse(file, authn.APIAudiences)
	if err != nil {
		return configfile.Config{}, err
	}
	return configfile.Config{
		Lines: c.Says(),
		Use:   func(t *sim.Task) { o.use(oidc.NewIssuers(t, o.Process, c, o.Provider)) },
		Reuse: func(t *sim.Task) error {
			if err := o.issuers.MayFollow(c); err != nil {
				return err
			}
			next := oidc.NewIssuers(t, o.Process, c, o.Provider)
			if err := next.AwaitKnown(t); err != nil {
				return err
			}
			o.use(next)
			return nil
		},
	}, nil
}

// use replaces the issuers that are in effect; nil for none.
func (o *Options) use(issuers *oidc.Issuers) {
	o.issuers.Leave()
	o.issuers, o.Authenticators.OIDC, o.Authenticators.Anonymous = issuers, nil, nil
	if issuers == nil {
		return
	}
	o.Authenticators.Anonymous = issuers.MayBeAnonymous
	if issuers.Any() {
		o.Authenticators.OIDC = issuers
	}
}

// tokenWebhookFile is where the kubeconfig is that
// --authentication-token-webhook-config-file names.
const tokenWebhookFile = "/etc/kubernetes/token-webhook.yaml"

// tokenWebhook reads the file.
func (o *Options) tokenWebhook(file []byte) (configfile.Config, error) {
	address, err := webhook.ReadKubeconfig(file)
	if err != nil {
		return configfile.Config{}, err
	}
	return configfile.Config{Lines: []string{"asked: " + address}, Use: func(*sim.Task) {
		o.Authenticators.Webhook = authn.NewTokenWebhook(&webhook.Reviewer{
			Client: o.Webhooks, Codec: authn.TokenCodec, Address: address, Timeout: webhook.ReviewTimeout, Pause: webhook.ReviewPause,
		}, o.clock())
	}}, nil
}

// authorization reads the file.
func (o *Options) authorization(file []byte) (configfile.Config, error) {
	chain, lines, err := authz.ReadChain(file, o.Authorizers.Authorizer, o.Webhooks, o.clock(), o.kubeconfigAt)
	if err != nil {
		return configfile.Config{}, err
	}
	return configfile.Config{
		Lines: lines,
		Use:   func(*sim.Task) { o.Authorizers.Chain = chain },
		Reuse: func(*sim.Task) error {
			if err := chain.MayFollow(o.Authorizers.Chain); err != nil {
				return err
			}
			o.Authorizers.Chain = chain
			return nil
		},
	}, nil
}

// kubeconfigAt reads a kubeconfig on the server's machine.
func (o *Options) kubeconfigAt(path string) (address string, err error) {
	file, err := o.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("stat %s: no such file or directory", path)
	}
	return webhook.ReadKubeconfig(file)
}

func (o *Options) clock() quota.Clock { return quota.Clock{Time: o.Process.Kernel().Now} }
