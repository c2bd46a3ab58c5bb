package mtls

import (
	"errors"
	"fmt"
	"net/http"

	"kviz/cluster/remote"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
)

// server tells a client who it is, by the URI in its certificate.
type server struct {
	in    runtime.Instance
	chain [][]byte
	trust string // the file with the certificates that clients' are verified by
}

// StartServer begins the server in a container. It shows the certificate that it has read at its
// start, and reads again for each client whom to trust, as upstream's does.
func StartServer(in runtime.Instance) runtime.Program {
	s := &server{in: in}
	if err := s.load(); err != nil {
		end(in, err)
	}
	return s
}

func (s *server) load() error {
	f, err := flags(s.in, "listen", "server-creds", "spiffe-trust-bundle")
	if err != nil {
		return err
	}
	s.trust = f["spiffe-trust-bundle"]
	if _, some, err := roots(s.in, s.trust); err != nil {
		return fmt.Errorf("error while serving: while reading SPIFFE trust anchors: %w", err)
	} else if !some {
		return errors.New("error while serving: failed to append client certs from PEM")
	}
	if s.chain, err = chain(s.in, f["server-creds"]); err != nil {
		return fmt.Errorf("error while serving: while loading server key pair: %w", err)
	}
	return nil
}

// Serve answers a request (handleGetSPIFFEEcho).
func (s *server) Serve(t *sim.Task, r *remote.Request) (remote.Answer, error) {
	code, body := s.answer(t, r)
	return remote.Answer{Code: code, Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, Body: []byte(body), Shows: s.chain}, nil
}

func (s *server) answer(t *sim.Task, r *remote.Request) (code int, body string) {
	const required = "SPIFFE client certificate authentication required\n"
	switch {
	case r.Path != "/spiffe-echo":
		return http.StatusNotFound, "404 page not found\n"
	case r.Method != http.MethodGet:
		return http.StatusMethodNotAllowed, "Method Not Allowed\n"
	case len(r.Shows) == 0:
		return http.StatusUnauthorized, required
	}
	by, _, err := roots(s.in, s.trust)
	if err != nil {
		logf(t, s.in, "Error while reading SPIFFE trust anchors: %v", err)
		return http.StatusInternalServerError, "Internal Error\n"
	}
	leaf, err := verify(r.Shows, by, "", t.Now())
	if err != nil {
		logf(t, s.in, "Error while verifying SPIFFE client certificate: %v", err)
		return http.StatusUnauthorized, required
	}
	if len(leaf.URIs) != 1 {
		logf(t, s.in, "SPIFFE client certificate did not have 1 URI SAN, count: %d", len(leaf.URIs))
		return http.StatusUnauthorized, "Malformed SPIFFE certificate\n"
	}
	return http.StatusOK, "Client Identity: " + leaf.URIs[0].String()
}
