package serviceaccount

import (
	"encoding/json"
	"net"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/jws"
)

// Paths of the documents by which others can check service account tokens, OpenID
// Connect Discovery 1.0 (pkg/serviceaccount/openidmetadata.go OpenIDConfigPath,
// JWKSPath).
const (
	OpenIDConfigPath = "/.well-known/openid-configuration"
	JWKSPath         = "/openid/v1/jwks"
)

// openIDMetadata is the part of the discovery document that who checks tokens needs;
// nobody logs in here (pkg/serviceaccount openIDMetadata).
type openIDMetadata struct {
	Issuer        string   `json:"issuer"`
	JWKSURI       string   `json:"jwks_uri"`
	ResponseTypes []string `json:"response_types_supported"`
	SubjectTypes  []string `json:"subject_types_supported"`
	SigningAlgs   []string `json:"id_token_signing_alg_values_supported"`
}

// OpenID are the documents by which others check the tokens of a server.
type OpenID struct {
	Address string // the server's
	Keys    *authn.Keys
}

// Config tells who issues service account tokens and where the keys are, as
// JSON: at this server's own address, for without --service-account-jwks-uri upstream
// takes its external address (openidConfigProvider.GetConfigJSON).
func (o OpenID) Config() ([]byte, error) {
	return json.Marshal(openIDMetadata{
		Issuer: authn.Issuer, JWKSURI: "https://" + net.JoinHostPort(o.Address, "6443") + JWKSPath,
		ResponseTypes: []string{"id_token"}, SubjectTypes: []string{"public"}, SigningAlgs: []string{jws.Algorithm},
	})
}

// JWKS is the public half of the key that signs service account tokens, as a JSON web
// key set (openidConfigProvider.GetKeysetJSON).
func (o OpenID) JWKS() ([]byte, error) { return jws.MarshalSet([]jws.Public{o.Keys.Public()}) }
