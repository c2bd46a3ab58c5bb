package apiserver

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

// What the server's configuration files put in force.

// newConfigFiles are the files that flags of the server name, in the order in which it reads
// them.
func (s *Server) newConfigFiles() *configfile.Files {
	return configfile.New(
		s.whose(),
		&configfile.File{
			Name: "admission", Flag: "--admission-control-config-file", Path: admission.File, Title: "admission",
			Read: s.admissionConfig, Without: func() { s.handlers.Admission = s.newAdmission(nil) },
		},
		&configfile.File{
			Name: "tokens", Flag: "--token-auth-file", Path: authn.TokenFilePath, Title: "static token",
			Read: s.tokensConfig, Without: func() { s.authenticators.Tokens.File = nil },
		},
		&configfile.File{
			Name: "authentication", Flag: "--authentication-config", Path: oidc.File, Title: "authentication",
			Read: s.authenticationConfig, Without: func() {
				s.issuers.Leave()
				s.useIssuers(nil)
			}, Reloads: true,
		},
		&configfile.File{
			Name: "token-webhook", Flag: "--authentication-token-webhook-config-file", Path: tokenWebhookFile, Title: "token webhook",
			Read: s.tokenWebhookConfig, Without: func() { s.authenticators.Webhook = nil },
		},
		&configfile.File{
			Name: "authorization", Flag: "--authorization-config", Path: authz.File, Title: "authorization",
			Read: s.authorizationConfig, Without: func() { s.authorizers.Chain = nil }, Reloads: true,
		},
	)
}

// admissionConfig reads the file: a line a plugin.
func (s *Server) admissionConfig(file []byte) (configfile.Config, error) {
	plugins, err := admission.ReadConfigurations(file)
	if err != nil {
		return configfile.Config{}, err
	}
	return configfile.Config{Lines: plugins.Lines(), Use: func(*sim.Task) { s.handlers.Admission = s.newAdmission(plugins) }}, nil
}

// tokensConfig reads the file.
func (s *Server) tokensConfig(file []byte) (configfile.Config, error) {
	f, err := authn.ParseTokenFile(file)
	if err != nil {
		return configfile.Config{}, err
	}
	return configfile.Config{Lines: f.Lines(), Use: func(*sim.Task) { s.authenticators.Tokens.File = f }}, nil
}

// newAuthenticators makes them; what is signed, and what has expired before its time, is
// the same at all servers of a cluster.
func (s *Server) newAuthenticators(authority *authn.Authority, expiry *authn.Expiry) {
	s.authenticators = &authn.Authenticators{
		Authority: authority, Expiry: expiry, Tokens: &authn.TokenFiles{Given: s.cfg.Tokens},
		Accounts: authn.NewAccountTokens(s.keys, expiry, s.caches), Bootstrap: authn.NewBootstrapTokens(s.caches),
	}
}

// authenticationConfig reads the file.
func (s *Server) authenticationConfig(file []byte) (configfile.Config, error) {
	c, err := oidc.Parse(file, authn.APIAudiences)
	if err != nil {
		return configfile.Config{}, err
	}
	return configfile.Config{
		Lines: c.Says(),
		Use: func(t *sim.Task) {
			s.issuers.Leave()
			s.useIssuers(oidc.NewIssuers(t, s.p, c, s.provider()))
		},
		Reuse: func(t *sim.Task) error {
			if err := s.issuers.MayFollow(c); err != nil {
				return err
			}
			next := oidc.NewIssuers(t, s.p, c, s.provider())
			if err := next.AwaitKnown(t); err != nil {
				return err
			}
			s.issuers.Leave()
			s.useIssuers(next)
			return nil
		},
	}, nil
}

func (s *Server) provider() oidc.Provider {
	if s.cfg.Provider == nil {
		return nil
	}
	return s.cfg.Provider
}

// useIssuers puts issuers in force; nil for none.
func (s *Server) useIssuers(all *oidc.Issuers) {
	s.issuers, s.authenticators.OIDC = all, nil
	if all != nil && all.Any() {
		s.authenticators.OIDC = all
	}
}

// tokenWebhookFile is where the kubeconfig is that
// --authentication-token-webhook-config-file names.
const tokenWebhookFile = "/etc/kubernetes/token-webhook.yaml"

// tokenWebhookConfig reads the file.
func (s *Server) tokenWebhookConfig(file []byte) (configfile.Config, error) {
	address, err := webhook.ReadKubeconfig(file)
	if err != nil {
		return configfile.Config{}, err
	}
	return configfile.Config{Lines: []string{"asked: " + address}, Use: func(*sim.Task) {
		s.authenticators.Webhook = authn.NewTokenWebhook(&webhook.Reviewer{
			Client: s.webhooks, Codec: authn.TokenCodec, Address: address, Timeout: webhook.ReviewTimeout, Pause: webhook.ReviewPause,
		}, quota.Clock{Time: s.k.Now})
	}}, nil
}

// authorizationConfig reads the file.
func (s *Server) authorizationConfig(file []byte) (configfile.Config, error) {
	chain, lines, err := authz.ReadChain(file, s.authorizers.Authorizer, s.webhooks, quota.Clock{Time: s.k.Now}, s.kubeconfigAt)
	if err != nil {
		return configfile.Config{}, err
	}
	return configfile.Config{
		Lines: lines,
		Use:   func(*sim.Task) { s.authorizers.Chain = chain },
		Reuse: func(*sim.Task) error {
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
