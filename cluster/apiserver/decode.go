package apiserver

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coredefaults "k8s.io/kubernetes/pkg/apis/core/v1"

	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// bodyKind is the kind a request's body should be of.
func (c *call) bodyKind() schema.GroupVersionKind {
	if c.sub != nil {
		return c.sub.GVK
	}
	return c.kind.GVK()
}

// decode is the stage that turns the body into an object and fills in
// defaults (apiserver pkg/endpoints/handlers/create.go).
func (c *call) decode() (decoded, error) {
	c.Pause(c.s.cfg.Cost.Decode)
	gvk := c.bodyKind()
	var obj runtime.Object
	var err error
	c.aside("decoding", func() { obj, err = c.readBody(gvk) })
	if err != nil {
		return decoded{}, c.Refuse(trace.StageDecode, "", err)
	}
	defer func() { c.record.Body(c.req, c.kind, obj) }()
	note := "Read the " + gvk.Kind
	if c.custom() {
		return decoded{c.decodedCustom(obj, note)}, nil
	}
	var diff []trace.FieldDiff
	if c.req.System {
		c.fillDefaults(obj)
	} else {
		c.aside("the defaults", func() {
			before := obj.DeepCopyObject()
			c.fillDefaults(obj)
			diff = object.Diff(before, obj)
		})
	}
	switch len(diff) {
	case 0:
		note += "; it needs no defaults."
	default:
		note += " and filled in " + request.Count(len(diff), "default", "defaults") + "."
	}
	if c.req.System {
		note = "Read the " + gvk.Kind + " and filled in its defaults."
	}
	c.Pass(trace.StageDecode, "", note, diff)
	return decoded{obj}, nil
}

// fillDefaults sets what the writer left open, and brings fields that say the
// same thing into line, as Kubernetes' conversion to the internal version
// does.
func (c *call) fillDefaults(obj runtime.Object) {
	switch o := obj.(type) {
	case *corev1.Pod:
		if c.req.System && c.req.Subresource == "status" {
			coredefaults.SetDefaults_PodStatus(&o.Status) // the spec will be the stored one
			return
		}
	case *unstructured.Unstructured:
		crd.Of(c.kind).Fill(o)
		return
	case *corev1.Secret:
		for _, k := range sortedKeys(o.StringData) {
			if o.Data == nil {
				o.Data = map[string][]byte{}
			}
			o.Data[k] = []byte(o.StringData[k])
		}
		o.StringData = nil
	case *appsv1.DaemonSet:
		// The internal version has a field for it, so its writer is noted as writing it.
		if _, ok := o.Annotations[appsv1.DeprecatedTemplateGeneration]; !ok && !c.req.System {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, appsv1.DeprecatedTemplateGeneration, "0")
		}
	case *autoscalingv1.HorizontalPodAutoscaler: // the internal version has metrics by default, which its writer is noted as writing
		v := registry.Versioned{Resource: c.kind.Resource, Subresource: c.req.Subresource}
		registry.Scheme.Default(o)
		v.Back(v.Internal(o), o)
	case *corev1.Node:
		switch s := &o.Spec; {
		case s.PodCIDR != "" && (len(s.PodCIDRs) == 0 || s.PodCIDRs[0] != s.PodCIDR):
			s.PodCIDRs = []string{s.PodCIDR}
		case s.PodCIDR == "" && len(s.PodCIDRs) > 0:
			s.PodCIDR = s.PodCIDRs[0]
		}
	}
	registry.Scheme.Default(obj)
}

// readBody decodes the request's body, strictly if asked to.
func (c *call) readBody(gvk schema.GroupVersionKind) (runtime.Object, error) {
	if c.custom() {
		if c.req.Object != nil {
			return c.takeCustom(c.req.Object, gvk)
		}
		return c.parseCustom(c.req.Body, c.req.ContentType, gvk)
	}
	if c.req.Object != nil {
		obj := c.req.Object.DeepCopyObject()
		if reflect.TypeOf(obj) != registry.TypeOf(gvk) {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %T", gvk.Kind, obj))
		}
		obj.GetObjectKind().SetGroupVersionKind(gvk)
		return obj, nil
	}
	return c.parse(c.req.Body, c.req.ContentType, gvk)
}

// parse decodes bytes as an object of a kind.
func (c *call) parse(data []byte, contentType string, gvk schema.GroupVersionKind) (runtime.Object, error) {
	into := registry.NewObject(gvk)
	lax, strict := runtime.Decoder(registry.LaxJSON), runtime.Decoder(registry.StrictJSON)
	switch mediaType(contentType) {
	case runtime.ContentTypeProtobuf:
		lax, strict = registry.Protobuf, registry.Protobuf
	case runtime.ContentTypeYAML:
		lax, strict = registry.LaxYAML, registry.StrictYAML
	}
	decoder := strict
	if c.req.FieldValidation == metav1.FieldValidationIgnore {
		decoder = lax
	}
	obj, got, err := decoder.Decode(data, &gvk, into)
	if err != nil {
		strictErr, isStrict := runtime.AsStrictDecodingError(err)
		switch {
		case isStrict && c.req.FieldValidation == metav1.FieldValidationStrict, !isStrict, obj == nil:
			return nil, decodeError(err, gvk, got, data)
		default:
			for _, e := range strictErr.Errors() {
				c.Warnings = append(c.Warnings, e.Error())
			}
		}
	}
	if got != nil && got.Kind != gvk.Kind {
		return nil, decodeError(registry.Unconvertible(obj, gvk), gvk, got, data)
	}
	if isProtobuf(contentType) {
		// The JSON that some kinds have inside (a ControllerRevision's data) came as bytes
		// that nobody has read yet. Libraries behind this would panic at what is none, which
		// upstream answers with 500.
		if _, err := json.Marshal(obj); err != nil {
			return nil, decodeError(err, gvk, got, data)
		}
	}
	if got != nil && got.GroupVersion() != gvk.GroupVersion() {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", got.GroupVersion(), gvk.GroupVersion()))
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	return obj, nil
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
