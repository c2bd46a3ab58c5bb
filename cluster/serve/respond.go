package serve

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
)

// output is what the client asked to be answered with.
type output struct {
	info    runtime.SerializerInfo
	convert *schema.GroupVersionKind // Table, PartialObjectMetadata(List), or nil
	table   metav1.TableOptions
	client  context.Context // ends when the client has gone
}

// codecs encode lists object by object, as kube-apiserver's do
// (registry/core/rest/storage_core_generic.go), so that one that nobody reads is not in
// memory as a whole.
var codecs = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.WithStreamingCollectionEncodingToJSON(), serializer.WithStreamingCollectionEncodingToProtobuf())

// restrictions mirrors RequestScope.AllowsMediaTypeTransform
// (apiserver pkg/endpoints/handlers/rest.go).
type restrictions struct {
	custom bool // custom objects have no protobuf
	review bool // of what is answered and not stored there are no tables
}

func restrictionsOf(k *registry.Kind, subresource string) restrictions {
	return restrictions{
		custom: k.Custom != nil && subresource != "scale",
		review: !k.Stored() && !k.Is("ComponentStatus"),
	}
}

func (r restrictions) AllowsMediaTypeTransform(mimeType, mimeSubType string, gvk *schema.GroupVersionKind) bool {
	if gvk == nil {
		return !r.custom || mimeSubType != "vnd.kubernetes.protobuf"
	}
	if gv := gvk.GroupVersion(); gv != metav1.SchemeGroupVersion && gv != metav1beta1.SchemeGroupVersion {
		return false
	}
	switch gvk.Kind {
	case "Table":
		return !r.review && mimeType == "application" && (mimeSubType == "json" || mimeSubType == "yaml")
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		return true
	}
	return false
}
func (restrictions) AllowsServerVersion(string) bool  { return false }
func (restrictions) AllowsStreamSchema(s string) bool { return s == "watch" }

// negotiate reads the Accept header; 406 if nothing in it can be served.
func negotiate(r *http.Request, only restrictions) (output, *metav1.Status) {
	options, info, err := negotiation.NegotiateOutputMediaType(r, codecs, only)
	if err != nil {
		return output{}, statusOf(err)
	}
	out := output{info: info, convert: options.Convert, client: r.Context()}
	if out.convert != nil && out.convert.Kind == "Table" {
		q := r.URL.Query()
		if err := metav1.Convert_url_Values_To_v1_TableOptions(&q, &out.table, nil); err != nil {
			return output{}, badRequest(err.Error())
		}
		switch out.table.IncludeObject {
		case "", metav1.IncludeNone, metav1.IncludeMetadata, metav1.IncludeObject:
		default:
			return output{}, badRequest(fmt.Sprintf("Unable to convert to Table as requested: includeObject: Invalid value: %q: must be 'Metadata', 'Object', 'None', or empty", out.table.IncludeObject))
		}
	}
	return out, nil
}

func badRequest(message string) *metav1.Status {
	return &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest, Message: message}
}

func warn(w http.ResponseWriter, text string) {
	if header, err := utilnet.NewWarningHeader(299, "-", text); err == nil {
		w.Header().Add("Warning", header)
	}
}

// writeResponse encodes the pipeline's answer. now is the virtual time of it.
func (h *Handler) writeResponse(w http.ResponseWriter, r *http.Request, req *request.Request, out output, resp *request.Response, now time.Time) {
	for _, text := range resp.Warnings {
		warn(w, text)
	}
	if resp.Err != nil {
		writeStatus(w, r, resp.Status())
		return
	}
	aged := agedFor(r, req)
	give, err := h.unread.take(r.Context(), r.RemoteAddr, out.needs(resp, aged), h.patience())
	if err != nil { // upstream's words for too many requests in flight
		writeStatus(w, r, statusOf(apierrors.NewTooManyRequests("Too many requests, please try again later.", 1)))
		return
	}
	defer give()
	h.turns.take()
	over := sync.OnceFunc(h.turns.give)
	defer over()
	var (
		obj    runtime.Object
		status *metav1.Status
	)
	if resp.IsList {
		obj, status = h.listObject(out, resp, now, aged)
	} else {
		if aged && resp.Object != nil {
			resp.Object = resp.Object.DeepCopyObject()
			shiftTimes(resp.Object, now, wallSecond())
		}
		obj, status = h.singleObject(resp.Kind, out, resp.Object, now)
	}
	if status != nil {
		over()
		writeStatus(w, r, status)
		return
	}
	code := resp.Code
	if code == 0 {
		code = http.StatusOK
	}
	if s, ok := obj.(*metav1.Status); ok && resp.Code == 0 && s.Code != 0 {
		code = int(s.Code)
	}
	to := h.patiently(w)
	to.turns = h.turns
	defer to.end()
	responsewriters.SerializeObject(out.info.MediaType, out.info.Serializer, to, r, code, obj) // gzipped from 128 KiB on, if the client takes that
}

const (
	// listed is what an object of a list needs beside those that the cache has, and compressing
	// what a stream of them does.
	listed      = 1 << 10
	compressing = 1 << 20
	// asYAML is how often a text is in memory while it becomes YAML.
	asYAML = 8
)

// needs is about how many bytes an answer has in memory while it is written.
func (out *output) needs(resp *request.Response, aged bool) int {
	all := sizeOf(resp.Object)
	largest := all
	for _, item := range resp.Items {
		n := sizeOf(item)
		all, largest = all+listed+n, max(largest, n)
	}
	switch {
	case out.info.MediaType == runtime.ContentTypeYAML:
		return asYAML * all
	case !resp.IsList || aged || out.convert != nil && out.convert.Kind == "Table":
		return 2 * all
	}
	n := listed*len(resp.Items) + 2*largest // it is encoded object by object
	if n > little {
		n += compressing
	}
	return n
}

// singleObject is one object in the asked form.
func (h *Handler) singleObject(k *registry.Kind, out output, obj runtime.Object, now time.Time) (runtime.Object, *metav1.Status) {
	if s, ok := obj.(*metav1.Status); ok {
		s = s.DeepCopy()
		s.Kind, s.APIVersion = "Status", "v1"
		return s, nil
	}
	switch {
	case out.convert == nil:
		return named(obj), nil
	case out.convert.Kind == "Table":
		return h.table.table(k, []runtime.Object{obj}, metav1.ListMeta{}, true, out, now)
	case out.convert.Kind == "PartialObjectMetadata":
		return partial(obj, out.convert.GroupVersion())
	}
	return nil, notAcceptable(fmt.Sprintf("you requested %s, but the requested object is not a list (%s)", out.convert.Kind, goType(k, k.Kind)))
}

// listObject is a list in the asked form.
func (h *Handler) listObject(out output, resp *request.Response, now time.Time, aged bool) (runtime.Object, *metav1.Status) {
	switch {
	case out.convert == nil:
		return typedList(resp, now, aged)
	case out.convert.Kind == "Table":
		table, status := h.table.table(resp.Kind, resp.Items, resp.ListMeta, false, out, now)
		if t, ok := table.(*metav1.Table); ok && len(resp.Items) == 0 && !out.table.NoHeaders {
			var own bool
			if t.ColumnDefinitions, own = h.table.columns(resp.Kind); !own {
				t.Rows = nil
			}
		}
		return table, status
	case out.convert.Kind == "PartialObjectMetadataList":
		list := &metav1.PartialObjectMetadataList{ListMeta: resp.ListMeta} // its items are null where there are none
		list.SetGroupVersionKind(*out.convert)
		for _, item := range resp.Items {
			p, status := partial(item, out.convert.GroupVersion())
			if status != nil {
				return nil, status
			}
			list.Items = append(list.Items, *p.(*metav1.PartialObjectMetadata))
		}
		return list, nil
	}
	return nil, notAcceptable(fmt.Sprintf("you requested %s, but the requested object is a list (%s)", out.convert.Kind, goType(resp.Kind, resp.Kind.ListKind())))
}

// goType is what upstream's messages call an object: the Go type of its internal
// version.
func goType(k *registry.Kind, kind string) string {
	if k.Custom != nil {
		return "*unstructured.Unstructured"
	}
	obj, err := legacyscheme.Scheme.New(schema.GroupVersionKind{Group: k.Group, Version: runtime.APIVersionInternal, Kind: kind})
	if err != nil {
		return kind
	}
	return fmt.Sprintf("%T", obj)
}

// wallSecond is what clients that print ages take them from, the machine's clock, as a Time
// of a second goes over the wire. A MicroTime, which has parts of a second, would come out
// later than a Time of the same moment, by as much as the machine's clock happens to show.
func wallSecond() time.Time { return time.Now().Truncate(time.Second) }

// typedList is the items as the list kind of their resource. The items are
// shared with the watch cache, so they are copied as far as they are changed.
func typedList(resp *request.Response, now time.Time, aged bool) (runtime.Object, *metav1.Status) {
	if resp.Kind == nil {
		return nil, pathNotFound()
	}
	if resp.Kind.Custom != nil {
		return customList(resp), nil
	}
	gvk := resp.Kind.GVK()
	gvk.Kind = resp.Kind.ListKind()
	list, err := legacyscheme.Scheme.New(gvk)
	if err != nil {
		return nil, statusOf(err)
	}
	items := resp.Items
	if aged {
		items = make([]runtime.Object, len(resp.Items))
		wall := wallSecond()
		for i, item := range resp.Items {
			items[i] = item.DeepCopyObject()
			shiftTimes(items[i], now, wall)
		}
	}
	if items == nil {
		items = []runtime.Object{} // "items": [], never null
	}
	if err := meta.SetList(list, items); err != nil {
		return nil, statusOf(err)
	}
	// In a typed list the items do not say their kind.
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		item.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		return nil
	})
	if m, ok := list.(metav1.ListInterface); ok {
		m.SetResourceVersion(resp.ListMeta.ResourceVersion)
		m.SetContinue(resp.ListMeta.Continue)
		m.SetRemainingItemCount(resp.ListMeta.RemainingItemCount)
	}
	list.GetObjectKind().SetGroupVersionKind(gvk)
	return list, nil
}

// customList is the items of a custom kind as a list; they say their kind.
func customList(resp *request.Response) runtime.Object {
	list := &unstructured.UnstructuredList{Items: make([]unstructured.Unstructured, len(resp.Items))}
	for i, item := range resp.Items {
		list.Items[i] = *item.(*unstructured.Unstructured)
	}
	list.SetAPIVersion(resp.Kind.GroupVersion().String())
	list.SetKind(resp.Kind.ListKind())
	list.SetResourceVersion(resp.ListMeta.ResourceVersion)
	list.SetContinue(resp.ListMeta.Continue)
	list.SetRemainingItemCount(resp.ListMeta.RemainingItemCount)
	return list
}

// named is the object with its kind and apiVersion filled in; a shared object
// is not changed.
func named(obj runtime.Object) runtime.Object {
	if !obj.GetObjectKind().GroupVersionKind().Empty() {
		return obj
	}
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(obj)
	if err != nil || len(kinds) == 0 {
		return obj
	}
	obj = obj.DeepCopyObject()
	obj.GetObjectKind().SetGroupVersionKind(kinds[0])
	return obj
}

func partial(obj runtime.Object, gv schema.GroupVersion) (runtime.Object, *metav1.Status) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, notAcceptable(err.Error())
	}
	p := meta.AsPartialObjectMetadata(m)
	p.SetGroupVersionKind(gv.WithKind("PartialObjectMetadata"))
	if _, old := p.Annotations[appsv1.DeprecatedTemplateGeneration]; old {
		if _, ok := obj.(*appsv1.DaemonSet); ok { // it is an annotation in the version only
			p.Annotations = maps.Clone(p.Annotations)
			delete(p.Annotations, appsv1.DeprecatedTemplateGeneration)
		}
	}
	return p, nil
}

func notAcceptable(message string) *metav1.Status {
	return &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable, Message: message}
}
