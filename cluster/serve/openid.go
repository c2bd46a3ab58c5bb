package serve

import (
	"net/http"
	"strings"

	"kviz/cluster/apiserver/serviceaccount"
)

// issuer has the documents by which others check service account tokens.
type issuer interface {
	OpenID() serviceaccount.OpenID
}

// openIDCaching is how long who checks tokens may keep the documents: an hour
// (pkg/serviceaccount staticPublicKeysGetter.GetCacheAgeMaxSeconds).
const openIDCaching = "public, max-age=3600"

// isOpenID reports whether a path is that of a document about service account tokens,
// or below one.
func isOpenID(path string) bool {
	for _, root := range []string{serviceaccount.OpenIDConfigPath, serviceaccount.JWKSPath} {
		if path == root || strings.HasPrefix(path, root+"/") {
			return true
		}
	}
	return false
}

// serveOpenID answers who wants to check service account tokens: the issuer's
// discovery document and its keys (pkg/routes/openidmetadata.go).
func (h *Handler) serveOpenID(w http.ResponseWriter, r *http.Request, path string) {
	contentType, document := "application/json", serviceaccount.OpenID.Config
	if strings.HasPrefix(path, serviceaccount.JWKSPath) {
		contentType, document = "application/jwk-set+json", serviceaccount.OpenID.JWKS
	}
	switch {
	case path != serviceaccount.OpenIDConfigPath && path != serviceaccount.JWKSPath:
		writeStatus(w, r, routeError(http.StatusNotFound, ""))
		return
	case r.Method != http.MethodGet:
		writeStatus(w, r, routeError(http.StatusMethodNotAllowed, ""))
		return
	case !accepts(r.Header.Get("Accept"), []string{contentType}):
		writeStatus(w, r, routeError(http.StatusNotAcceptable, "406: Not Acceptable\n\nAvailable representations: "+contentType))
		return
	}
	var body []byte
	up := false
	err := h.cfg.Kernel.Do(func() {
		if api := h.cfg.API(); api != nil && api.Ready() {
			up = true
			var bad error
			if body, bad = document(api.OpenID()); bad != nil {
				panic("serve: " + bad.Error()) // plain data
			}
		}
	})
	if err != nil || !up {
		h.refuse(w, r)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", openIDCaching)
	_, _ = w.Write(body)
}
