package serve

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metascheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	listvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	endpointsrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"kviz/cluster/apiserver/request"
)

// maxBody is the largest request body, as in apiserver pkg/server/config.go.
const maxBody = 3 << 20

var infoFactory = endpointsrequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// whatFor reads of an HTTP request which resource it is for, and what is to be
// done. It mirrors RequestInfo; [parseOptions] is what each handler of apiserver
// pkg/endpoints/handlers does before it calls the registry.
func whatFor(r *http.Request) (*request.Request, *metav1.Status) {
	info, err := infoFactory.NewRequestInfo(r)
	if err != nil {
		return nil, statusOf(apierrors.NewBadRequest(err.Error()))
	}
	if !info.IsResourceRequest {
		return nil, routeError(http.StatusNotFound, "")
	}
	req := &request.Request{
		Verb:        info.Verb,
		Resource:    schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource},
		Subresource: info.Subresource,
		Namespace:   info.Namespace,
		Name:        info.Name,
		Path:        r.URL.RequestURI(),
	}
	if req.Resource.Group == "" && req.Resource.Resource == "namespaces" {
		if req.Namespace != "" && req.Namespace != req.Name {
			return nil, routeError(http.StatusNotFound, "")
		}
		req.Namespace = "" // upstream's scope naming: a namespace lies in no namespace
	}
	if text := r.URL.Query().Get("timeout"); text != "" && req.Verb != "watch" {
		if req.Timeout, err = time.ParseDuration(text); err != nil { // endpoints/filters/request_deadline.go parseTimeout
			return nil, statusOf(apierrors.NewBadRequest("invalid timeout specified in the request URL - " + err.Error()))
		}
	}
	return req, nil
}

// parseOptions reads the query and the body.
func parseOptions(r *http.Request, req *request.Request) *metav1.Status {
	var err error
	q := r.URL.Query()
	switch req.Verb {
	case "get":
		err = metav1.Convert_url_Values_To_v1_GetOptions(&q, &req.Get, nil)
	case "list", "watch":
		if err = parseList(req, q); err == nil {
			return validateList(req)
		}
	case "create", "update", "patch":
		return parseWrite(r, req, q)
	case "delete", "deletecollection":
		return parseDelete(r, req, q)
	default:
		return methodNotAllowed(req)
	}
	if err != nil {
		return statusOf(apierrors.NewBadRequest(err.Error()))
	}
	return nil
}

// metaCodecs read the options that come in a body (apihelpers.GetMetaInternalVersionCodecs).
var metaCodecs = metascheme.Codecs

// validateList judges the options of a list or watch (handlers/get.go
// ListResource).
func validateList(req *request.Request) *metav1.Status {
	var o internalversion.ListOptions
	if err := internalversion.Convert_v1_ListOptions_To_internalversion_ListOptions(&req.List, &o, nil); err != nil {
		return statusOf(apierrors.NewBadRequest(err.Error()))
	}
	internalversion.SetListOptionsDefaults(&o, true)
	if errs := listvalidation.ValidateListOptions(&o, true); len(errs) > 0 {
		return statusOf(apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs))
	}
	return nil
}

// parseList reads list options. RequestInfo takes the name out of a
// metadata.name selector; the pipeline wants it left in the selector.
func parseList(req *request.Request, q url.Values) error {
	err := metav1.Convert_url_Values_To_v1_ListOptions(&q, &req.List, nil)
	if req.Name != "" && req.List.FieldSelector == "" { // /api/v1/watch/…/NAME
		req.List.FieldSelector = "metadata.name=" + req.Name
	}
	req.Name = ""
	return err
}

// parseWrite reads the body and options of create, update and patch.
func parseWrite(r *http.Request, req *request.Request, q url.Values) *metav1.Status {
	body, status := readBody(r)
	if status != nil {
		return status
	}
	contentType, status := bodyType(r)
	if status != nil {
		return status
	}
	var errs field.ErrorList
	kind := "CreateOptions"
	switch req.Verb {
	case "create":
		var o metav1.CreateOptions
		if err := metav1.Convert_url_Values_To_v1_CreateOptions(&q, &o, nil); err != nil {
			return statusOf(apierrors.NewBadRequest(err.Error()))
		}
		errs = metavalidation.ValidateCreateOptions(&o)
		req.DryRun, req.FieldManager, req.FieldValidation = len(o.DryRun) > 0, o.FieldManager, o.FieldValidation
	case "update":
		kind = "UpdateOptions"
		var o metav1.UpdateOptions
		if err := metav1.Convert_url_Values_To_v1_UpdateOptions(&q, &o, nil); err != nil {
			return statusOf(apierrors.NewBadRequest(err.Error()))
		}
		errs = metavalidation.ValidateUpdateOptions(&o)
		req.DryRun, req.FieldManager, req.FieldValidation = len(o.DryRun) > 0, o.FieldManager, o.FieldValidation
	case "patch":
		kind = "PatchOptions"
		if req.PatchType, status = patchType(contentType); status != nil {
			return status
		}
		var o metav1.PatchOptions
		if err := metav1.Convert_url_Values_To_v1_PatchOptions(&q, &o, nil); err != nil {
			return statusOf(apierrors.NewBadRequest(err.Error()))
		}
		errs = metavalidation.ValidatePatchOptions(&o, req.PatchType)
		req.DryRun, req.FieldManager, req.FieldValidation = len(o.DryRun) > 0, o.FieldManager, o.FieldValidation
		req.Force = o.Force != nil && *o.Force
		req.Patch = body
	}
	if len(errs) > 0 {
		return statusOf(apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs))
	}
	if req.FieldManager == "" { // handlers/create.go managerOrUserAgent
		req.FieldManager = clientName(r.UserAgent())
	}
	if req.Verb != "patch" {
		if _, err := negotiation.NegotiateInputSerializerForMediaType(contentType, false, legacyscheme.Codecs); err != nil {
			return statusOf(err)
		}
		req.Body, req.ContentType = body, contentType
	}
	return nil
}

// parseDelete reads DeleteOptions, from the body if there is one, else from
// the query (handlers/delete.go DeleteResource).
func parseDelete(r *http.Request, req *request.Request, q url.Values) *metav1.Status {
	body, status := readBody(r)
	if status != nil {
		return status
	}
	if len(body) > 0 {
		contentType, status := bodyType(r)
		if status != nil {
			return status
		}
		info, err := negotiation.NegotiateInputSerializerForMediaType(contentType, false, metaCodecs)
		if err != nil {
			return statusOf(err)
		}
		gvk := schema.GroupVersionKind{Version: "v1", Kind: "DeleteOptions"}
		obj, _, err := metaCodecs.DecoderToVersion(info.Serializer, gvk.GroupVersion()).Decode(body, &gvk, &req.Delete)
		if err != nil {
			return statusOf(apierrors.NewBadRequest(err.Error()))
		}
		if obj != &req.Delete {
			return statusOf(apierrors.NewBadRequest("decoded object cannot be converted to DeleteOptions"))
		}
	} else if err := metav1.Convert_url_Values_To_v1_DeleteOptions(&q, &req.Delete, nil); err != nil {
		return statusOf(apierrors.NewBadRequest(err.Error()))
	}
	if errs := metavalidation.ValidateDeleteOptions(&req.Delete); len(errs) > 0 {
		return statusOf(apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs))
	}
	req.DryRun = len(req.Delete.DryRun) > 0
	if req.Verb == "deletecollection" {
		if err := parseList(req, q); err != nil {
			return statusOf(apierrors.NewBadRequest(err.Error()))
		}
		return validateList(req)
	}
	return nil
}

func readBody(r *http.Request) ([]byte, *metav1.Status) {
	if r.Body == nil {
		return nil, nil
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, statusOf(apierrors.NewBadRequest(fmt.Sprintf("reading the request body: %v", err)))
	}
	if len(b) > maxBody {
		return nil, statusOf(apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody)))
	}
	return b, nil
}

// bodyType is the media type of the body without its parameters; JSON unless
// the client says otherwise.
func bodyType(r *http.Request) (string, *metav1.Status) {
	h := r.Header.Get("Content-Type")
	if h == "" {
		return "application/json", nil
	}
	t, _, err := mime.ParseMediaType(h)
	if err != nil {
		return "", statusOf(negotiation.NewUnsupportedMediaTypeError(mediaTypes))
	}
	return t, nil
}

// mediaTypes are what bodies and answers may be in.
var mediaTypes = []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"}

var patchTypes = []string{string(types.JSONPatchType), string(types.MergePatchType), string(types.StrategicMergePatchType), string(types.ApplyYAMLPatchType)}

func patchType(contentType string) (types.PatchType, *metav1.Status) {
	for _, t := range patchTypes {
		if t == contentType {
			return types.PatchType(t), nil
		}
	}
	return "", routeError(http.StatusUnsupportedMediaType, "415: Unsupported Media Type")
}

// actAs reads the Impersonate- headers (kubectl --as); the pipeline decides
// about them. It mirrors apiserver pkg/endpoints/filters/impersonation
// buildImpersonationRequests.
func actAs(r *http.Request) (*request.Impersonation, *metav1.Status) {
	as := &request.Impersonation{
		User: r.Header.Get(authenticationv1.ImpersonateUserHeader), UID: r.Header.Get(authenticationv1.ImpersonateUIDHeader),
		Groups: r.Header.Values(authenticationv1.ImpersonateGroupHeader),
	}
	var names []string
	for name := range r.Header {
		if strings.HasPrefix(name, authenticationv1.ImpersonateUserExtraHeaderPrefix) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		key := strings.ToLower(strings.TrimPrefix(name, authenticationv1.ImpersonateUserExtraHeaderPrefix))
		if plain, err := url.PathUnescape(key); err == nil {
			key = plain
		}
		as.Extra = append(as.Extra, request.ImpersonatedExtra{Key: key, Values: r.Header[name]})
	}
	if as.User != "" {
		return as, nil
	}
	if len(as.Groups) > 0 || len(as.Extra) > 0 || as.UID != "" {
		return nil, statusOf(apierrors.NewBadRequest(fmt.Sprintf("requested %#v without impersonating a user name", as.Info())))
	}
	return nil, nil
}
