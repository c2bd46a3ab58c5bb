package apiserver

import "kviz/cluster/apiserver/serviceaccount"

// OpenIDConfig tells who issues service account tokens and where the keys are, as JSON.
func (s *Server) OpenIDConfig() ([]byte, error) {
	return serviceaccount.OpenIDConfig(s.cfg.AdvertiseIP)
}

// JWKS is the public half of the key that signs service account tokens, as a JSON web
// key set.
func (s *Server) JWKS() ([]byte, error) { return serviceaccount.JWKS(s.keys) }
