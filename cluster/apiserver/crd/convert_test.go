package crd

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/util/webhook"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
)

// Upstream's converter, which calls a real server, says of every answer what ours
// says of it, and makes the same object of it.
func TestConversionAnswersAreJudgedAsUpstream(t *testing.T) {
	in := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1beta1", "kind": "Hat", "size": "7",
		"metadata": map[string]any{"name": "top", "namespace": "demo", "uid": "u1", "labels": map[string]any{"a": "b"}, "generation": int64(3)},
	}}
	review := func(response string) string {
		return `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":` + response + `}`
	}
	good := func(objects string) string {
		return review(`{"uid":"UID","result":{"status":"Success"},"convertedObjects":[` + objects + `]}`)
	}
	hats := func(meta string) string {
		return good(`{"apiVersion":"example.com/v1","kind":"Hat","width":7,"metadata":` + meta + `}`)
	}
	answers := map[string]string{
		"good":                   hats(`{"name":"top","namespace":"demo","uid":"u1","labels":{"a":"b"}}`),
		"labels changed":         hats(`{"name":"top","namespace":"demo","uid":"u1","labels":{"c":"d"},"annotations":{"x":"y"}}`),
		"other metadata changed": hats(`{"name":"top","namespace":"demo","uid":"u1","generation":9,"finalizers":["x"]}`),
		"bad label":              hats(`{"name":"top","namespace":"demo","uid":"u1","labels":{"c":"not a label"}}`),
		"bad annotation":         hats(`{"name":"top","namespace":"demo","uid":"u1","annotations":{"no key":"y"}}`),
		"labels of numbers":      hats(`{"name":"top","namespace":"demo","uid":"u1","labels":{"c":1}}`),
		"labels a list":          hats(`{"name":"top","namespace":"demo","uid":"u1","labels":[]}`),
		"other name":             hats(`{"name":"mine","namespace":"demo","uid":"u1"}`),
		"other namespace":        hats(`{"name":"top","namespace":"mine","uid":"u1"}`),
		"other uid":              hats(`{"name":"top","namespace":"demo","uid":"mine"}`),
		"no metadata":            good(`{"apiVersion":"example.com/v1","kind":"Hat"}`),
		"other kind":             good(`{"apiVersion":"example.com/v1","kind":"Cap","metadata":{"name":"top"}}`),
		"other version":          good(`{"apiVersion":"example.com/v1beta1","kind":"Hat","metadata":{"name":"top"}}`),
		"no kind":                good(`{"apiVersion":"example.com/v1"}`),
		"no objects":             good(``),
		"two objects":            good(`{"apiVersion":"example.com/v1","kind":"Hat"},{"apiVersion":"example.com/v1","kind":"Hat"}`),
		"another request's":      review(`{"uid":"mine","result":{"status":"Success"}}`),
		"failure":                review(`{"uid":"UID","result":{"status":"Failure","message":"no hats today"}}`),
		"silent failure":         review(`{"uid":"UID","result":{"status":"Failure"}}`),
		"no result":              review(`{"uid":"UID"}`),
		"no response":            `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"}`,
		"beta review":            strings.Replace(hats(`{"name":"top"}`), "k8s.io/v1", "k8s.io/v1beta1", 1),
		"another kind":           `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`,
		"no JSON":                `{"kind":`,
		"a number":               `1`,
	}
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		answer := answers[name]
		uid, want, wantErr := upstreamConversion(t, in.DeepCopy(), answer)
		to := &registry.Kind{Resource: client.Resource{GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1"}, Kind: "Hat"}}
		response := &apiextensionsv1.ConversionReview{}
		_, _, err := ConversionCodec.Decode([]byte(strings.ReplaceAll(answer, "UID", string(uid))), nil, response)
		got, err := VerifyConversion(in.DeepCopy(), to, uid, response, err)
		switch {
		case wantErr != nil || err != nil:
			if wantErr == nil || err == nil || wantErr.Error() != err.Error() {
				t.Errorf("%s:\nupstream %v\nours     %v", name, wantErr, err)
			}
		case !object.Equal(got.Object, want.Object):
			t.Errorf("%s:\nupstream %v\nours     %v", name, want.Object, got.Object)
		}
	}
}

// upstreamConversion has upstream's converter ask a server that gives one answer.
func upstreamConversion(t *testing.T, in *unstructured.Unstructured, answer string) (uid types.UID, out *unstructured.Unstructured, err error) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked := &apiextensionsv1.ConversionReview{}
		if err := json.Unmarshal(body, asked); err == nil {
			uid = asked.Request.UID
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(strings.ReplaceAll(answer, "UID", string(uid))))
	}))
	defer server.Close()
	factory, err := conversion.NewCRConverterFactory(webhook.NewDefaultServiceResolver(), nil)
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name, crd.Spec.Group = "hats.example.com", "example.com"
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1beta1"}, {Name: "v1"}}
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
		ConversionReviewVersions: []string{"v1"},
		ClientConfig: &apiextensionsv1.WebhookClientConfig{
			URL: &server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		},
	}}
	safe, _, err := factory.NewConverter(crd)
	if err != nil {
		t.Fatal(err)
	}
	got, err := safe.ConvertToVersion(in, schema.GroupVersion{Group: "example.com", Version: "v1"})
	if err != nil {
		return uid, nil, err
	}
	return uid, got.(*unstructured.Unstructured), nil
}
