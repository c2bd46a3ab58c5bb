package serve

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"kviz/cluster/apiserver/request"
	"kviz/cluster/sim"
)

// statusOf is an error as the body that tells a client of it
// (responsewriters/status.go ErrorToAPIStatus).
func statusOf(err error) *metav1.Status {
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		s := known.Status()
		return &s
	}
	s := apierrors.NewInternalError(err).Status()
	return &s
}

// writeStatus answers with a Status, in the form the client asked for, or in
// JSON if that form is the trouble.
func writeStatus(w http.ResponseWriter, r *http.Request, s *metav1.Status) {
	s.Kind, s.APIVersion = "Status", "v1"
	if n, ok := w.(*noted); ok {
		n.status = s
	}
	if s.Status == "" {
		s.Status = metav1.StatusFailure
	}
	code := int(s.Code)
	if code == 0 {
		code = http.StatusInternalServerError
		if s.Status == metav1.StatusSuccess {
			code = http.StatusOK
		}
	}
	if s.Details != nil && s.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(s.Details.RetryAfterSeconds))
	}
	out, bad := negotiate(r, restrictions{})
	if bad != nil || out.info.Serializer == nil {
		out.info = legacyscheme.Codecs.SupportedMediaTypes()[0]
	}
	w.Header().Set("Content-Type", out.info.MediaType)
	w.WriteHeader(code)
	_ = out.info.Serializer.Encode(s, w)
}

// writePanicked answers a request at which kviz panicked.
func writePanicked(w http.ResponseWriter) {
	http.Error(w, "This request caused apiserver to panic. Look in the logs for details.", http.StatusInternalServerError)
}

// panicked reports whether an error is a panic in the task of a request, and has answered then.
func panicked(w http.ResponseWriter, err error) bool {
	var broken *sim.PanicError
	if !errors.As(err, &broken) {
		return false
	}
	writePanicked(w)
	return true
}

// writePathNotFound is what upstream's router says of a path it does not know.
func writePathNotFound(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusNotFound)
	fmt.Fprintln(w, "404 page not found")
}

// routeError is what the API server's router says of a request that it has no
// place for (apiserver pkg/server/handler.go serviceErrorHandler).
func routeError(code int, message string) *metav1.Status {
	s := apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", message, 0, false).Status()
	return &s
}

func pathNotFound() *metav1.Status {
	return &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: "the server could not find the requested resource",
	}
}

func methodNotAllowed(req *request.Request) *metav1.Status {
	return statusOf(apierrors.NewMethodNotSupported(req.Resource.GroupResource(), req.Verb))
}

// notImplemented says that kviz does not serve what a real server would, and
// what to do instead.
func notImplemented(why string) *metav1.Status {
	return &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotImplemented, Reason: "NotImplemented",
		Message: "kviz does not serve this to other programs: " + why,
	}
}
