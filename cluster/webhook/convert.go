package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/trace"
)

// conversionPath is where servers that convert serve.
const conversionPath = "/crdconvert"

// converting answers ConversionReviews, as servers do that convert custom objects
// between versions; convert changes an object to one of another apiVersion.
func converting(convert func(u *unstructured.Unstructured, desired string) error) func([]byte, Lie, *trace.WebhookCall) (int, []byte) {
	return func(body []byte, lie Lie, p *trace.WebhookCall) (code int, answer []byte) {
		return convertAll(convert, body, lie, p)
	}
}

func convertAll(convert func(*unstructured.Unstructured, string) error, body []byte, lie Lie, p *trace.WebhookCall) (code int, answer []byte) {
	review := &apiextensionsv1.ConversionReview{}
	if err := json.Unmarshal(body, review); err != nil || review.Request == nil {
		p.Error = "the body is no ConversionReview with a request"
		return http.StatusBadRequest, []byte("want a ConversionReview with a request\n")
	}
	req := review.Request
	resp := &apiextensionsv1.ConversionResponse{UID: req.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	p.UID, p.Desired = string(req.UID), req.DesiredAPIVersion
	for _, raw := range req.Objects {
		u := &unstructured.Unstructured{}
		err := u.UnmarshalJSON(raw.Raw)
		if err == nil {
			p.Object = named(u)
			err = convert(u, req.DesiredAPIVersion)
		}
		if err != nil {
			resp.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
			resp.ConvertedObjects = nil
			break
		}
		resp.ConvertedObjects = append(resp.ConvertedObjects, runtime.RawExtension{Object: u})
	}
	return http.StatusOK, lie.tellConversion(review, resp, p)
}

// named is what an object is called: "CronTab demo/web".
func named(u *unstructured.Unstructured) string {
	if u.GetNamespace() == "" {
		return u.GetKind() + " " + u.GetName()
	}
	return u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName()
}

// convertHostPort is the example of the Kubernetes documentation ("Versions in
// CustomResourceDefinitions", Webhook request and response): v1beta1 says hostPort,
// v1 says host and port.
func convertHostPort(u *unstructured.Unstructured, desired string) error {
	from, to := version(u.GetAPIVersion()), version(desired)
	switch {
	case from == to:
		return fmt.Errorf("conversion from a version to itself should not call the webhook: %s", desired)
	case from == "v1beta1" && to == "v1":
		if hostPort, has := u.Object["hostPort"]; has {
			delete(u.Object, "hostPort")
			parts := strings.Split(fmt.Sprint(hostPort), ":")
			if len(parts) != 2 {
				return fmt.Errorf("invalid hostPort value `%v`", hostPort)
			}
			u.Object["host"], u.Object["port"] = parts[0], parts[1]
		}
	case from == "v1" && to == "v1beta1":
		host, hasHost := u.Object["host"]
		port, hasPort := u.Object["port"]
		if hasHost || hasPort {
			delete(u.Object, "host")
			delete(u.Object, "port")
			u.Object["hostPort"] = fmt.Sprintf("%v:%v", orEmpty(host), orEmpty(port))
		}
	default:
		return fmt.Errorf("unexpected conversion version %q", desired)
	}
	u.SetAPIVersion(desired)
	return nil
}

func version(apiVersion string) string { return apiVersion[strings.LastIndexByte(apiVersion, '/')+1:] }

func orEmpty(v any) any {
	if v == nil {
		return ""
	}
	return v
}

// tellConversion is tell for conversions; what a wrong patch is to a review is here an
// object of another name.
func (l Lie) tellConversion(review *apiextensionsv1.ConversionReview, resp *apiextensionsv1.ConversionResponse, p *trace.WebhookCall) []byte {
	switch l {
	case WrongUID:
		resp.UID = "00000000-0000-4000-8000-000000000000"
	case WrongPatch:
		for _, o := range resp.ConvertedObjects {
			o.Object.(*unstructured.Unstructured).SetName("mine")
		}
	case Garbage:
		p.Lie = string(l)
		return []byte(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"result":{"status":"Success"},` + "\x00")
	}
	p.Lie, p.Allowed, p.Message = string(l), resp.Result.Status == metav1.StatusSuccess, resp.Result.Message
	data, err := json.Marshal(&apiextensionsv1.ConversionReview{TypeMeta: review.TypeMeta, Response: resp})
	if err != nil {
		panic(fmt.Sprintf("webhook: encoding a conversion: %v", err)) // made of what JSON gave
	}
	return data
}
