// Package decode turns a request's body into an object: of the kind and version in its path,
// strictly if the client asks for that, with defaults; a custom object without the fields that
// its schema does not know (apiserver pkg/endpoints/handlers/create.go and update.go, and
// customresource_handler.go of apiextensions-apiserver). It knows nothing of the server:
// [Body] is what it takes, [Read] what it returns.
//
// Start reading at [Object].
package decode

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/bound"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Of is what a body is for.
type Of struct {
	Kind        *registry.Kind // that the request is for
	Subresource string
	Component   bool      // a component of this process sends it
	Now         time.Time // virtual; when defaults that are times began
}

// Body is what a request writes, as it came.
type Body struct {
	Of
	GVK         schema.GroupVersionKind // that it should be of: the kind's own, or that of a subresource
	Custom      bool                    // an object of a custom kind; a Scale of one is none
	Object      runtime.Object          // that a component gave; nil for Data
	Data        []byte
	ContentType string // of Data
	Validation  string // of fields: Strict, Warn, Ignore
}

// Read is what was read.
type Read struct {
	Object   runtime.Object // nobody else's
	Err      error          // or why there is none
	Warnings []string

	// Of a custom kind, what was pruned, and what was there before that, which is nil where
	// nobody is told.
	Pruned []string
	Raw    runtime.Object
}

// Object decodes a body.
func Object(b Body) (read Read) {
	switch {
	case b.Custom && b.Object != nil:
		return takeCustom(b)
	case b.Custom:
		return parseCustom(b)
	case b.Object != nil:
		read.Object, read.Err = take(b)
	default:
		read.Object, read.Warnings, read.Err = parse(b)
	}
	return read
}

// take is a copy of what a component gave.
func take(b Body) (runtime.Object, error) {
	obj := b.Object.DeepCopyObject()
	if reflect.TypeOf(obj) != registry.TypeOf(b.GVK) {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %T", b.GVK.Kind, obj))
	}
	obj.GetObjectKind().SetGroupVersionKind(b.GVK)
	return obj, nil
}

// parse decodes bytes as an object of a kind.
func parse(b Body) (obj runtime.Object, warnings []string, err error) {
	data, contentType, gvk := b.Data, b.ContentType, b.GVK
	into := registry.NewObject(gvk)
	lax, strict := runtime.Decoder(registry.LaxJSON), runtime.Decoder(registry.StrictJSON)
	switch mediaType(contentType) {
	case runtime.ContentTypeProtobuf:
		lax, strict = registry.Protobuf, registry.Protobuf
	case runtime.ContentTypeYAML:
		lax, strict = registry.LaxYAML, registry.StrictYAML
	}
	decoder := strict
	if b.Validation == metav1.FieldValidationIgnore {
		decoder = lax
	}
	got, err := bounded(data, mediaType(contentType), gvk)
	if err != nil {
		return nil, nil, decodeError(err, gvk, got, data)
	}
	obj, got, err = decoder.Decode(data, &gvk, into)
	if err != nil {
		strictErr, isStrict := runtime.AsStrictDecodingError(err)
		switch {
		case isStrict && b.Validation == metav1.FieldValidationStrict, !isStrict, obj == nil:
			return nil, nil, decodeError(err, gvk, got, data)
		default:
			for _, e := range strictErr.Errors() {
				warnings = append(warnings, e.Error())
			}
		}
	}
	if got != nil && got.Kind != gvk.Kind {
		return nil, nil, decodeError(registry.Unconvertible(obj, gvk), gvk, got, data)
	}
	if isProtobuf(contentType) {
		// The JSON that some kinds have inside (a ControllerRevision's data) came as bytes
		// that nobody has read yet. Libraries behind this would panic at what is none, which
		// upstream answers with 500.
		doc, err := json.Marshal(obj)
		if err == nil {
			err = bound.Shallow(doc)
		}
		if err != nil {
			return nil, nil, decodeError(err, gvk, got, data)
		}
	}
	if got != nil && got.GroupVersion() != gvk.GroupVersion() && !accepts(gvk, *got) {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", got.GroupVersion(), gvk.GroupVersion()))
	}
	if got != nil && got.GroupVersion() != gvk.GroupVersion() {
		if obj, err = registry.InVersion(obj, gvk); err != nil {
			return nil, nil, decodeError(err, gvk, got, data)
		}
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	return obj, warnings, nil
}

// accepts reports whether a body may be of another version than its path: an Eviction may,
// of the version that old clients send (EvictionREST.AcceptsGroupVersion).
func accepts(want, got schema.GroupVersionKind) bool {
	return want.Kind == "Eviction" && got.Group == want.Group && got.Version == "v1beta1"
}

func isProtobuf(contentType string) bool {
	return mediaType(contentType) == runtime.ContentTypeProtobuf
}

// mediaType is a content type without its parameters.
func mediaType(contentType string) string {
	t, _, _ := strings.Cut(contentType, ";")
	return strings.TrimSpace(t)
}

// decodeError is apiserver pkg/endpoints/handlers/rest.go transformDecodeError.
func decodeError(err error, want schema.GroupVersionKind, got *schema.GroupVersionKind, data []byte) error {
	if got != nil && got.Kind != "" {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", got.Kind, got.Version, want.Kind, err))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", want.Kind, err, summarize(data)))
}

// summarize is the beginning of a body, for an error (rest.go summarizeData).
func summarize(data []byte) string {
	const most = 30
	if len(data) == 0 {
		return "<empty>"
	}
	more := ""
	if len(data) > most {
		data, more = data[:most], " ..."
	}
	if data[0] == '{' {
		return string(data) + more
	}
	return hex.EncodeToString(data) + more
}
