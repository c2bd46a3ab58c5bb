package crd

import (
	"errors"
	"fmt"
	"time"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// Conversion between the versions of a definition. With strategy None it is a change
// of name; with strategy Webhook a server is asked, for every object that comes from
// or goes to the store in another version than its own (apiextensions-apiserver
// pkg/apiserver/conversion/webhook_converter.go). The watch cache of each version
// asks for each object that it takes in.

// ConversionTimeout is the limit of every conversion (apiserver pkg/util/webhook
// setGlobalDefaults); a definition cannot set another.
const ConversionTimeout = 30 * time.Second

var ConversionCodec = func() runtime.Codec {
	s := runtime.NewScheme()
	utilruntime.Must(apiextensionsv1beta1.AddToScheme(s))
	utilruntime.Must(apiextensionsv1.AddToScheme(s))
	return serializer.NewCodecFactory(s).LegacyCodec(apiextensionsv1.SchemeGroupVersion, apiextensionsv1beta1.SchemeGroupVersion)
}()

// convert makes the object one of a version of this definition; the fields that this
// version does not know are pruned.
func (v *Version) convert(u *unstructured.Unstructured, to *registry.Kind) error {
	if u.GetAPIVersion() == to.APIVersion {
		return nil
	}
	if to.MayConvert() && !isEmptyCustom(u) {
		out, err := v.of.host.Convert(v.of.born, u, to)
		if err != nil {
			return err
		}
		u.Object = out.Object
	} else {
		u.SetAPIVersion(to.APIVersion) // nop_converter.go
	}
	_, err := v.Coerce(u, false)
	return err
}

// isEmptyCustom is isEmptyUnstructuredObject: nobody is asked about an object of
// nothing but a kind.
func isEmptyCustom(u *unstructured.Unstructured) bool {
	return len(u.Object) == 2 && u.Object["kind"] != nil && u.Object["apiVersion"] != nil
}

// Unconverted is a conversion that failed: what is stored cannot be told, or what was
// told cannot be stored.
type Unconverted struct {
	*apierrors.StatusError
	By     string
	Took   time.Duration
	Answer trace.ID // the webhook's answer, if there was one
}

// Unconverted names the webhook and its answer.
func (e *Unconverted) Unconverted() (by string, answered trace.ID) { return e.By, e.Answer }

// Refusal names the webhook.
func (e *Unconverted) Refusal() request.Refusal { return request.Refusal{By: e.By, Took: e.Took} }

// ConversionClient is the client configuration in the form that admission webhooks
// have.
func ConversionClient(cfg *apiextensionsv1.WebhookClientConfig) *registrationv1.WebhookClientConfig {
	out := &registrationv1.WebhookClientConfig{URL: cfg.URL, CABundle: cfg.CABundle}
	if s := cfg.Service; s != nil {
		out.Service = &registrationv1.ServiceReference{Namespace: s.Namespace, Name: s.Name, Path: s.Path, Port: s.Port}
	}
	return out
}

// ConversionReview is createConversionReviewObjects, of the first version that the
// webhook knows.
func ConversionReview(versions []string, u *unstructured.Unstructured, to string, uid types.UID) (request, response runtime.Object, err error) {
	objects := []runtime.RawExtension{{Object: u}}
	for _, v := range versions {
		switch v {
		case apiextensionsv1beta1.SchemeGroupVersion.Version:
			return &apiextensionsv1beta1.ConversionReview{
				Request:  &apiextensionsv1beta1.ConversionRequest{Objects: objects, DesiredAPIVersion: to, UID: uid},
				Response: &apiextensionsv1beta1.ConversionResponse{},
			}, &apiextensionsv1beta1.ConversionReview{}, nil
		case apiextensionsv1.SchemeGroupVersion.Version:
			return &apiextensionsv1.ConversionReview{
				Request:  &apiextensionsv1.ConversionRequest{Objects: objects, DesiredAPIVersion: to, UID: uid},
				Response: &apiextensionsv1.ConversionResponse{},
			}, &apiextensionsv1.ConversionReview{}, nil
		}
	}
	return nil, nil, errors.New("no supported conversion review versions")
}

// VerifyConversion is the object of an answer, if that is one to what was asked; call
// is what went wrong before there was one (webhookConverter.Convert).
func VerifyConversion(in *unstructured.Unstructured, to *registry.Kind, uid types.UID, response runtime.Object, call error) (*unstructured.Unstructured, error) {
	gvk := in.GroupVersionKind()
	if call != nil {
		return nil, fmt.Errorf("conversion webhook for %v failed: %w", gvk, call)
	}
	objects, err := convertedObjects(uid, response)
	if err != nil {
		return nil, fmt.Errorf("conversion webhook for %v failed: %w", gvk, err)
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("conversion webhook for %v returned %d objects, expected %d", gvk, len(objects), 1)
	}
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON(objects[0].Raw); err != nil {
		return nil, err
	}
	if e, a := to.GroupVersion(), out.GroupVersionKind().GroupVersion(); e != a {
		return nil, fmt.Errorf("conversion webhook for %v returned invalid object at index 0: invalid groupVersion (expected %v, received %v)", gvk, e, a)
	}
	if e, a := gvk.Kind, out.GetKind(); e != a {
		return nil, fmt.Errorf("conversion webhook for %v returned invalid object at index 0: invalid kind (expected %v, received %v)", gvk, e, a)
	}
	if err := sameIdentity(in, out); err != nil {
		return nil, fmt.Errorf("conversion webhook for %v returned invalid object: %w", gvk, err)
	}
	if err := restoreMeta(in, out); err != nil {
		return nil, fmt.Errorf("conversion webhook for %v returned invalid metadata: %w", gvk, err)
	}
	return out, nil
}

// convertedObjects is getConvertedObjectsFromResponse.
func convertedObjects(uid types.UID, response runtime.Object) ([]runtime.RawExtension, error) {
	var result metav1.Status
	var objects []runtime.RawExtension
	switch r := response.(type) {
	case *apiextensionsv1.ConversionReview:
		if want := apiextensionsv1.SchemeGroupVersion.WithKind("ConversionReview"); r.GroupVersionKind() != want {
			return nil, fmt.Errorf("expected webhook response of %v, got %v", want.String(), r.GroupVersionKind().String())
		}
		if r.Response == nil {
			return nil, errors.New("no response provided")
		}
		if r.Response.UID != uid {
			return nil, fmt.Errorf("expected response.uid=%q, got %q", uid, r.Response.UID)
		}
		result, objects = r.Response.Result, r.Response.ConvertedObjects
	case *apiextensionsv1beta1.ConversionReview:
		if r.Response == nil {
			return nil, errors.New("no response provided")
		}
		result, objects = r.Response.Result, r.Response.ConvertedObjects
	}
	switch {
	case result.Status == metav1.StatusSuccess:
		return objects, nil
	case result.Message != "":
		return nil, errors.New(result.Message)
	}
	return nil, fmt.Errorf("response.result.status was '%s', not 'Success'", result.Status)
}
