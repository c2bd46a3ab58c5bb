package apiserver

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/bound"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// refused asks and wants a refusal with some words in it.
func (w *world) refused(t *sim.Task, name string, req *request.Request, words string) {
	w.t.Helper()
	r := w.ask(t, req)
	if r.Err == nil || r.Code < 400 || r.Code >= 500 || !strings.Contains(r.Err.Error(), words) {
		w.t.Errorf("%s: %d %.300v, want a refusal with %q", name, r.Code, r.Err, words)
	}
}

// A quantity that would be compared for minutes is refused wherever it can come in, and a text
// that only looks like one is not.
func TestQuantitiesThatTakeLongAreRefused(t *testing.T) {
	const words = "unable to parse quantity's suffix"
	run(t, Config{}, func(w *world, task *sim.Task) {
		box := func(cpu string) string {
			return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"q"},"spec":{"containers":[{"name":"app","image":"nginx","resources":{"requests":{"cpu":"` + cpu + `"},"limits":{"cpu":"1"}}}]}}`
		}
		at := func(verb, name string, r client.Resource) *request.Request {
			return &request.Request{Verb: verb, Resource: r.GroupVersionResource, Namespace: "default", Name: name, FieldManager: "t"}
		}
		create := func(r client.Resource, contentType, body string) *request.Request {
			req := at("create", "", r)
			req.ContentType, req.Body = contentType, []byte(body)
			return req
		}
		patch := func(pt types.PatchType, body string) *request.Request {
			req := at("patch", "there", client.Pods)
			req.PatchType, req.Patch = pt, []byte(body)
			return req
		}
		_, err := w.admin().Create(task, client.ServiceAccounts, "default", &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "default"}})
		w.must(err)
		w.must(w.ask(task, create(client.Pods, "application/json", strings.Replace(box("1m"), `"q"`, `"there"`, 1))).Err)

		w.refused(task, "JSON", create(client.Pods, "application/json", box("1e20000000")), `Pod in version "v1" cannot be handled as a Pod: `+words)
		w.refused(task, "a small one", create(client.Pods, "application/json", box("1e-20000000")), words)
		w.refused(task, "escaped", create(client.Pods, "application/json", box(`1\u0065200000000`)), words)
		w.refused(task, "many digits", create(client.Pods, "application/json", box(strings.Repeat("9", 2000))), "unable to parse numeric part of quantity")
		w.refused(task, "YAML", create(client.Pods, "application/yaml", "kind: Pod\napiVersion: v1\nmetadata: {name: q}\nspec:\n  overhead:\n    cpu: 1e20000000\n"), words)
		w.refused(task, "YAML, hidden in base64", create(client.Pods, "application/yaml", "spec: {overhead: {cpu: !!binary MWUyMDAwMDAwMA==}}"), words)
		w.refused(task, "a Pod for a ConfigMap", create(client.ConfigMaps, "application/json", box("1e-20000000")), words)
		w.refused(task, "a claim", create(client.PersistentVolumeClaims, "application/json", `{"metadata":{"name":"q"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1e20000000"}}}}`), words)
		w.refused(task, "huge pages", create(client.Pods, "application/json", strings.Replace(box("1"), `"cpu"`, `"hugepages-1e-20000000"`, 1)), words)
		var wire bytes.Buffer
		in := pod("wired")
		in.APIVersion, in.Kind = "v1", "Pod"
		in.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("1e20000000")}
		w.must(registry.Protobuf.Encode(in, &wire))
		w.refused(task, "protobuf", create(client.Pods, "application/vnd.kubernetes.protobuf", wire.String()), words)

		const part = `{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"1e20000000"}}}]}}`
		w.refused(task, "a merge patch", patch(types.MergePatchType, part), words)
		w.refused(task, "a strategic merge patch", patch(types.StrategicMergePatchType, part), words)
		w.refused(task, "a JSON patch", patch(types.JSONPatchType, `[{"op":"add","path":"/spec/containers/0/resources/requests/cpu","value":"1e20000000"}]`), words)
		w.refused(task, "an apply", patch(types.ApplyPatchType, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"there"},"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"1e20000000"}}}]}}`), words)

		w.must(w.ask(task, create(client.ConfigMaps, "application/json", `{"metadata":{"name":"text"},"data":{"cpu":"1e20000000","n":"`+strings.Repeat("9", 2000)+`"}}`)).Err)
		w.must(w.ask(task, create(client.ConfigMaps, "application/yaml", "metadata: {name: more}\ndata: {cpu: \"1e20000000\"}")).Err)
		w.refused(task, "what is large, but not too large", create(client.Pods, "application/json", box("1e900")), "must be less than or equal to cpu limit of 1")
	})
}

// An object that was stored when nothing refused it is read all the same: a quantity is made
// smaller, and what is too deep is left out, as what nobody can decode.
func TestStoredObjectsAreBoundedWhenRead(t *testing.T) {
	in := pod("old")
	in.APIVersion, in.Kind = "v1", "Pod"
	in.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("1e20000000")}
	k := registry.KindFor(client.Pods.GroupVersionResource)
	value, err := registry.Encode(k, in)
	if err != nil {
		t.Fatal(err)
	}
	out, err := registry.Decode(k, value, 7)
	if err != nil {
		t.Fatal(err)
	}
	if cpu := out.(*corev1.Pod).Spec.Overhead["cpu"]; cpu.String() != "1e999" {
		t.Errorf("a stored 1e20000000 is read as %s", cpu.String())
	}
	foreign := []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"old","annotations":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}}`)
	if _, err := registry.Decode(k, foreign, 7); err == nil || !strings.Contains(err.Error(), bound.ErrDepth.Error()) {
		t.Errorf("a deep one: %v", err)
	}
}

const free = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: free.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: free, kind: Free}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// What is deeper than any real object is refused before anything descends into it.
func TestDeepObjectsAreRefused(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	run(t, Config{}, func(w *world, task *sim.Task) {
		w.define(task, free)
		body := func(name string, depth int) []byte {
			return []byte(`{"apiVersion":"example.com/v1","kind":"Free","metadata":{"name":"` + name + `"},"spec":` + nested(depth) + `}`)
		}
		at := func(verb, name string) *request.Request {
			return &request.Request{Verb: verb, Resource: example("v1", "free"), Namespace: "default", Name: name, FieldManager: "t"}
		}
		send := func(contentType string, body []byte) *request.Request {
			req := at("create", "")
			req.ContentType, req.Body = contentType, body
			return req
		}
		patch := func(pt types.PatchType, body string) *request.Request {
			req := at("patch", "there")
			req.PatchType, req.Patch = pt, []byte(body)
			return req
		}
		w.must(w.ask(task, send("application/json", body("there", 200))).Err)
		w.refused(task, "JSON", send("application/json", body("x", 4500)), "couldn't get version/kind; json parse error: invalid character '{' exceeded max depth")
		w.refused(task, "YAML in one line", send("application/yaml", body("x", 4500)), "exceeded max depth")
		var lines strings.Builder
		for i := range 300 {
			fmt.Fprintf(&lines, "%sa:\n", strings.Repeat(" ", i))
		}
		w.refused(task, "YAML in lines", send("application/yaml", []byte(lines.String())), "exceeded max depth")
		w.refused(task, "YAML in steps", send("application/yaml", []byte("a: 1\nb:\n "+strings.Repeat("- ", 300)+"a")), "exceeded max depth")
		apply := patch(types.ApplyPatchType, string(body("there", 4500)))
		w.refused(task, "an apply", apply, "exceeded max depth")
		w.refused(task, "a merge patch", patch(types.MergePatchType, `{"spec":`+nested(4500)+`}`), "invalid JSON patch")
		w.refused(task, "a JSON patch", patch(types.JSONPatchType, `[{"op":"add","path":"/spec","value":`+nested(4500)+`}]`), "invalid JSON patch")
		deeper := `[{"op":"copy","from":"/spec","path":"/spec/a"}` + strings.Repeat(`,{"op":"copy","from":"/spec","path":"/spec/a"}`, 99) + `]`
		w.refused(task, "a JSON patch that goes deeper step by step", patch(types.JSONPatchType, deeper), "exceeded max depth")
		built := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","managedFields":[{"manager":"m","operation":"Update","fieldsType":"FieldsV1","fieldsV1":` + strings.ReplaceAll(nested(4500), `"a"`, `"f:a"`) + `}]}}`
		fields := send("application/json", []byte(built))
		fields.Resource = client.ConfigMaps.GroupVersionResource
		w.refused(task, "managed fields", fields, "exceeded max depth")
		in := configMap("x", "a", "b")
		in.APIVersion, in.Kind = "v1", "ConfigMap"
		in.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(nested(4500))}}}
		var wire bytes.Buffer
		w.must(registry.Protobuf.Encode(in, &wire))
		inProtobuf := send("application/vnd.kubernetes.protobuf", wire.Bytes())
		inProtobuf.Resource = client.ConfigMaps.GroupVersionResource
		w.refused(task, "managed fields in protobuf", inProtobuf, "exceeded max depth")
	})
}

// signingRequest has a key of so many bits, and no valid signature.
func signingRequest(t *testing.T, bits uint) string {
	spki, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: new(big.Int).SetBit(new(big.Int).Lsh(big.NewInt(1), bits-1), 0, 1), E: 65537})
	if err != nil {
		t.Fatal(err)
	}
	type info struct {
		Version    int
		Subject    asn1.RawValue
		PublicKey  asn1.RawValue
		Attributes []asn1.RawValue `asn1:"tag:0,set"`
	}
	der, err := asn1.Marshal(struct {
		Info      info
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}{
		info{Subject: asn1.RawValue{FullBytes: []byte{0x30, 0}}, PublicKey: asn1.RawValue{FullBytes: spki}},
		pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11}, Parameters: asn1.NullRawValue},
		asn1.BitString{Bytes: make([]byte, bits/8), BitLength: int(bits)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
}

// A key is measured before a signature is checked with it.
func TestLargeKeysAreRefused(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		for bits, words := range map[uint]string{131072: "RSA key larger than 8192 bits", 2048: "crypto/rsa: verification error"} {
			body, _ := json.Marshal(map[string]any{
				"metadata": metav1.ObjectMeta{Name: "large"},
				"spec": map[string]any{
					"signerName": "kubernetes.io/kube-apiserver-client", "usages": []string{"client auth"},
					"request": base64.StdEncoding.EncodeToString([]byte(signingRequest(t, bits))),
				},
			})
			w.refused(task, fmt.Sprint(bits, " bits"), &request.Request{Verb: "create", Resource: client.CertificateSigningRequests.GroupVersionResource, Body: body}, words)
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "large", Namespace: "default"}, Type: corev1.SecretTypeTLS, Data: map[string][]byte{
			"tls.crt": []byte("x"), "tls.key": pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: make([]byte, 40000)}),
		}}
		body, _ := json.Marshal(secret)
		r := w.ask(task, &request.Request{Verb: "create", Resource: client.Secrets.GroupVersionResource, Namespace: "default", Body: body})
		if w.must(r.Err); fmt.Sprint(r.Warnings) != "[tls: RSA key larger than 8192 bits]" {
			t.Errorf("warnings %q", r.Warnings)
		}
	})
}
