package serve

import (
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/request"

	"kviz/cluster/apiserver/registry"
)

// routable says what the API server's router does (go-restful's detectRoute)
// before a handler sees the request: the path, the method, the body's type and
// the answer's must be ones that the resource has. Custom resources have no
// router; their handler judges.
func routable(r *http.Request, k *registry.Kind, req *request.Request, verbs []string) *metav1.Status {
	if req.Name != "" && req.Namespace == "" && k.Namespaced && req.Verb != "list" && req.Verb != "watch" {
		return routeError(http.StatusNotFound, "")
	}
	if req.Name != "" && !k.Stored() && !slices.Contains(k.Verbs, "get") && req.Verb != "list" && req.Verb != "watch" {
		return routeError(http.StatusNotFound, "")
	}
	if req.Namespace != "" && !k.Namespaced && k.GroupVersionResource.Resource != "namespaces" {
		return routeError(http.StatusNotFound, "")
	}
	proxied := connects(k, req) && req.Subresource == "proxy"
	if !slices.Contains(verbs, req.Verb) || !fits(req) || r.Method == http.MethodHead && !proxied {
		if k.Custom != nil {
			return methodNotAllowed(req)
		}
		return routeError(http.StatusMethodNotAllowed, "")
	}
	if k.Namespaced && req.Namespace == "" && (req.Verb == "create" || req.Verb == "deletecollection") {
		return routeError(http.StatusMethodNotAllowed, "")
	}
	if k.Custom != nil {
		return nil
	}
	produced := mediaTypes
	switch {
	case !connects(k, req):
	case req.Subresource == "log":
		produced = append([]string{"text/plain"}, mediaTypes...)
	default: // a connection that is upgraded has no media type
		return nil
	}
	if req.Verb == "list" || req.Verb == "watch" {
		produced = append(slices.Clip(mediaTypes), "application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
	}
	if !accepts(r.Header.Get("Accept"), produced) {
		return routeError(http.StatusNotAcceptable, "406: Not Acceptable\n\nAvailable representations: "+strings.Join(produced, ", "))
	}
	return nil
}

// accepts mirrors go-restful's Route.matchesAccept.
func accepts(header string, produced []string) bool {
	if header == "" {
		return true
	}
	for _, want := range strings.Split(header, ",") {
		want, _, _ = strings.Cut(want, ";")
		want = strings.Trim(want, " ")
		if want == "*/*" || slices.Contains(produced, want) {
			return true
		}
	}
	return false
}

// hasGroup reports whether something of a group is served.
func hasGroup(kinds []*registry.Kind, group string) bool {
	return slices.ContainsFunc(kinds, func(k *registry.Kind) bool { return k.Group == group })
}
