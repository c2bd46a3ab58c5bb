package request

import (
	"context"
	"crypto/x509"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/apis/core"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/fairness"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/remote"
	"kviz/cluster/trace"
)

// Request is one API request, as the HTTP edge has parsed it from the URL and
// headers (apiserver pkg/endpoints/request RequestInfo), or as an in-process
// client made it.
type Request struct {
	Verb        string // get, list, watch, create, update, patch, delete, deletecollection
	Resource    schema.GroupVersionResource
	Subresource string
	Namespace   string
	Name        string

	// User is who sends it. Nil means: see Certificates, then Token; and if there is
	// neither, the request is anonymous.
	User         *authn.User
	Token        string              // bearer token
	Certificates []*x509.Certificate // the client's, which it has the key of, then those that lead to the authority's
	// Kubeconfig says that a program outside is User because it shows the token of
	// the kubeconfig that kviz wrote, unless Certificates prove somebody else.
	Kubeconfig bool
	// Impersonate is whom the sender asks to act as; nil for nobody.
	Impersonate *Impersonation

	Client string     // who sent it, for the trace: a user agent; empty takes Lane
	Lane   trace.Lane // the sender's lane; zero means trace.CompClient
	Causes []trace.ID // what made the sender send it
	Path   string     // for the trace; built from the rest when empty

	// By which connection it comes, where a load balancer stands before several
	// servers. Both are empty for a sender that has one connection.
	Peer    string // the address of a program outside
	Command string // a command of the console, which has a connection of its own

	// For the audit log.
	AuditID   string   // the header Audit-ID; drawn where it is needed and empty
	UserAgent string   // the header User-Agent, whole
	SourceIPs []string // where the request came from; nil where the server knows

	// The body of create and update: either an object, or bytes to be decoded
	// in the decode stage. An object is not kept or changed.
	Object      runtime.Object
	Body        []byte
	ContentType string // of Body: application/json, application/yaml, application/vnd.kubernetes.protobuf

	// The body of patch.
	PatchType types.PatchType
	Patch     []byte
	Force     bool // server-side apply: take over conflicting fields

	Get    metav1.GetOptions
	List   metav1.ListOptions // list, watch, deletecollection
	Delete metav1.DeleteOptions

	Log *core.PodLogOptions // of the subresource log
	// Connect are the options of a subresource that is a connection (rest.Connecter):
	// a PodExecOptions, PodAttachOptions, PodPortForwardOptions, PodProxyOptions or
	// ServiceProxyOptions of v1.
	Connect runtime.Object

	Timeout time.Duration // the query's timeout; 0 for none

	DryRun          bool
	FieldManager    string
	FieldValidation string // Strict, Warn, Ignore; empty means Warn for Body, and is without meaning for Object

	// System marks the request of a component of this process: managedFields
	// are not tracked for it where nobody else has any.
	System bool

	// Proxied is the HTTP request as it came, of one that another server answers
	// (aggregator/proxy.go). Resource is empty where it is for no resource.
	Proxied *remote.Request

	// Kind is what the server itself asks for that need not be served: the objects of a
	// definition that goes. Nil for what Resource is served as. It is no part of a request
	// that is written down.
	Kind *registry.Kind `json:"-"`
	// Gone ends when the client has; nil where it stays. It is not written down either.
	Gone context.Context `json:"-"`
	// Part says that it is a part of a request that has been let in, with its user.
	Part bool

	selected *Selected
}

// Response is how a request ended. Exactly one of Object, Items (with
// IsList), Watch, Log, Session, Ports, Proxy, Raw or Err is set.
type Response struct {
	Code   int            // HTTP status
	Object runtime.Object // the caller's own; a *metav1.Status for deletions that are done
	Err    error          // an apierrors.APIStatus, or wraps client.ErrUnreachable

	IsList   bool
	Items    []runtime.Object // shared: not to be changed
	ListMeta metav1.ListMeta

	Watch client.Watch

	Log     LogStream // of a container
	Session *Session  // in a container, for when the connection is upgraded
	Ports   *Ports    // of a pod, likewise
	Proxy   *Proxy    // to a program that answers HTTP

	Raw *remote.Answer // of another server, as it is

	Kind *registry.Kind // that the request was for; nil for what is not served

	Created bool           // the answer is 201
	Shared  runtime.Object // equal to Object, if there is one that nobody changes

	Warnings []string // for the Warning headers
	AuditID  string   // for the header Audit-Id

	Flow  fairness.Class // that it belonged to; zero where it was not asked
	Stage string         // the stage that refused, if one did
	Took  time.Duration
}

// Own answers with the caller's own copy of a shared object.
func Own(obj runtime.Object) *Response {
	return &Response{Object: obj.DeepCopyObject(), Shared: obj}
}

// Traced is an object for the trace that equals the one returned to the caller, who
// may change that.
func (r *Response) Traced() runtime.Object {
	if r.Shared != nil {
		return r.Shared
	}
	return r.Object.DeepCopyObject()
}

// Status is the error as the body to send; nil when there was none.
func (r *Response) Status() *metav1.Status { return StatusOf(r.Err) }

// URL is the request's path, and its query where the edge gave one.
func (r *Request) URL() string {
	if r.Path != "" {
		return r.Path
	}
	b := make([]byte, 0, 160) // as long as most are, so that it is made in one piece
	if r.Resource.Group == "" {
		b = append(b, "/api/"...)
	} else {
		b = append(append(append(b, "/apis/"...), r.Resource.Group...), '/')
	}
	b = append(b, r.Resource.Version...)
	k := registry.KindFor(r.Resource)
	if r.Namespace != "" && (k == nil || k.Namespaced) { // a custom kind's client gives none if it is not namespaced
		b = append(append(b, "/namespaces/"...), r.Namespace...)
	}
	b = append(append(b, '/'), r.Resource.Resource...)
	if r.Name != "" {
		b = append(append(b, '/'), r.Name...)
	}
	if r.Subresource != "" {
		b = append(append(b, '/'), r.Subresource...)
	}
	return string(b)
}

// Sender is who sent the request, for the trace: a lane's name, or what a program calls
// itself.
func (r *Request) Sender() string {
	if r.Client != "" {
		return r.Client
	}
	if r.Lane == (trace.Lane{}) {
		return trace.CompClient
	}
	return r.Lane.String()
}

// URI is the request's, with what it asks for in the query.
func (r *Request) URI() string {
	uri := r.URL()
	if r.Verb == "watch" && !strings.Contains(uri, "?") {
		uri += "?watch=true"
	}
	return uri
}

// Credentials are what the request shows.
func (r *Request) Credentials() *authn.Credentials {
	return &authn.Credentials{User: r.User, Kubeconfig: r.Kubeconfig, Token: r.Token, Certificates: r.Certificates}
}

// Selected is what a request's selectors require.
type Selected struct {
	Fields fields.Requirements
	Labels labels.Requirements
	of     [2]string
}

// Selected reads the selectors, once. An edge does so before the request enters the
// simulation, since a long one takes its time. Nothing is required by a selector that cannot be
// parsed, which is refused where it is used (apiserver pkg/endpoints/filters/authorization.go
// GetAuthorizerAttributes).
func (r *Request) Selected() *Selected {
	of := [2]string{r.List.FieldSelector, r.List.LabelSelector}
	if r.selected != nil && r.selected.of == of {
		return r.selected
	}
	s := &Selected{of: of}
	if of[0] != "" {
		if sel, err := fields.ParseSelector(of[0]); err == nil {
			s.Fields = sel.Requirements()
		}
	}
	if of[1] != "" {
		if sel, err := labels.Parse(of[1]); err == nil {
			s.Labels, _ = sel.Requirements()
		}
	}
	r.selected = s
	return s
}

// Forget drops what was read of the selectors: a watch goes on for long.
func (r *Request) Forget() { r.selected = nil }

// SelectedName is the name of the one object that the request's field selector chooses, ""
// where it chooses otherwise: a watch on one object is about that object
// (endpoints/request RequestInfo).
func (r *Request) SelectedName() (name string) {
	if r.List.FieldSelector == "" {
		return ""
	}
	for _, term := range r.Selected().Fields {
		if term.Field == "metadata.name" && (term.Operator == selection.Equals || term.Operator == selection.DoubleEquals) {
			name = term.Value
		}
	}
	return name
}
