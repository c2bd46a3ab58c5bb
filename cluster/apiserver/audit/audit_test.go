package audit_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	auditapi "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	upstream "k8s.io/apiserver/pkg/audit"
	auditpolicy "k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	auditlog "k8s.io/apiserver/plugin/pkg/audit/log"
	"k8s.io/client-go/kubernetes/scheme"
	"pgregory.net/rapid"

	"kviz/cluster/apiserver/audit"
	"kviz/raftstore/steady"
)

// file is a policy of rules, each of a level and what else it says.
func file(rules ...string) []byte {
	text := "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n"
	for _, r := range rules {
		text += "- " + r + "\n"
	}
	return []byte(text)
}

// Whatever the policy and the request, the level and all else are what upstream's
// evaluator says, and the rule that is named is the first that says so alone.
func TestEvaluateAsUpstream(t *testing.T) {
	steady.Check(t, func(t *rapid.T) {
		some := func(label string, words ...string) []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom(words), 0, 2, rapid.ID[string]).Draw(t, label)
		}
		flow := func(words []string) string { return "[" + strings.Join(words, ", ") + "]" }
		rule := func(i int) string {
			text := "level: " + rapid.SampledFrom([]string{"None", "Metadata", "Request", "RequestResponse"}).Draw(t, fmt.Sprint("level", i))
			add := func(key string, words []string) {
				if len(words) > 0 {
					text += "\n  " + key + ": " + flow(words)
				}
			}
			add("verbs", some("verbs", "get", "create", "watch"))
			add("users", some("users", "alice", "bob"))
			add("userGroups", some("groups", "system:masters", "system:authenticated"))
			add("omitStages", some("omit", "RequestReceived", "ResponseComplete"))
			if rapid.Bool().Draw(t, "url") {
				add("nonResourceURLs", some("urls", `"/healthz*"`, `"/version"`, `"*"`))
				return text
			}
			add("namespaces", some("namespaces", "demo", `""`))
			if names := some("resources", "pods", "pods/log", `"*/status"`, `"pods/*"`, `"*"`); len(names) > 0 {
				text += "\n  resources: [{group: " + rapid.SampledFrom([]string{`""`, "apps", `"*"`}).Draw(t, "group") + ", resources: " + flow(names) + "}]"
			}
			return text
		}
		var rules []string
		for i := range rapid.IntRange(1, 4).Draw(t, "rules") {
			rules = append(rules, rule(i))
		}
		data := append(file(rules...), []byte("omitManagedFields: "+rapid.SampledFrom([]string{"true", "false"}).Draw(t, "managed")+"\n")...)
		theirs, err := auditpolicy.LoadPolicyFromBytes(data)
		ours, ourErr := audit.Parse(data)
		if err != nil || ourErr != nil {
			if err == nil || ourErr == nil || !strings.Contains(ourErr.Error(), err.Error()) {
				t.Fatalf("%s\nupstream says %v, kviz %v", data, err, ourErr)
			}
			return
		}
		a := authorizer.AttributesRecord{
			User: &user.DefaultInfo{Name: rapid.SampledFrom([]string{"alice", "bob", "eve"}).Draw(t, "who"), Groups: some("of", "system:masters", "system:authenticated")},
			Verb: rapid.SampledFrom([]string{"get", "create", "delete"}).Draw(t, "verb"), ResourceRequest: rapid.Bool().Draw(t, "resource?"),
			Namespace: rapid.SampledFrom([]string{"demo", "default", ""}).Draw(t, "namespace"), APIGroup: rapid.SampledFrom([]string{"", "apps"}).Draw(t, "of group"),
			Resource: "pods", Subresource: rapid.SampledFrom([]string{"", "log", "status"}).Draw(t, "sub"), Path: rapid.SampledFrom([]string{"/version", "/healthz/ping"}).Draw(t, "path"),
		}
		want, got := auditpolicy.NewPolicyRuleEvaluator(theirs.DeepCopy()).EvaluatePolicyRule(a), ours.Evaluate(a)
		slices.Sort(want.OmitStages)
		slices.Sort(got.OmitStages)
		if fmt.Sprint(want) != fmt.Sprint(got.RequestAuditConfig) {
			t.Fatalf("%s\nfor %+v\nupstream says %v, kviz %v", data, a, want, got.RequestAuditConfig)
		}
		first := 0
		for i := range theirs.Rules {
			alone := theirs.DeepCopy()
			alone.Rules = alone.Rules[i : i+1]
			alone.Rules[0].Level = "found"
			if auditpolicy.NewPolicyRuleEvaluator(alone).EvaluatePolicyRule(a).Level == "found" {
				first = i + 1
				break
			}
		}
		if got.Rule != first {
			t.Fatalf("%s\nfor %+v\nrule %d is named; the first that matches is %d", data, a, got.Rule, first)
		}
	})
}

func TestBadPolicies(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"", "unknown group version field"},
		{"apiVersion: audit.k8s.io/v1\nkind: Policy\n", "loaded illegal policy with 0 rules"},
		{"apiVersion: audit.k8s.io/v1beta1\nkind: Policy\nrules: [{level: None}]\n", `no kind "Policy" is registered for version "audit.k8s.io/v1beta1"`},
		{string(file("level: Much")), `rules[0].level: Unsupported value: "Much": supported values: "None", "Metadata", "Request", "RequestResponse"`},
		{string(file("level: None\n  nonResourceURLs: [healthz]")), `rules[0].nonResourceURLs[0]: Invalid value: "healthz": non-resource URL rules must begin with a '/' character`},
	} {
		if _, err := audit.Parse([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasSuffix(err.Error(), "from file "+audit.PolicyFile) {
			t.Errorf("%q: error %v; want %s", c.data, err, c.want)
		}
	}
}

var (
	received = time.Date(2026, 1, 1, 0, 0, 1, 0, time.UTC)
	alice    = &user.DefaultInfo{Name: "alice", Groups: []string{"dev", "system:authenticated"}, UID: "42", Extra: map[string][]string{"team": {"blue"}}}
)

// exchange is a request and how it ends.
type exchange struct {
	name, method, uri string
	info              request.RequestInfo
	body, answer      runtime.Object
	patch             []byte
	as                *user.DefaultInfo
	code              int
}

func exchanges() []exchange {
	secret := func() *corev1.Secret {
		s := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "demo", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}},
			Data:       map[string][]byte{"password": []byte("<sword&fish>")},
		}
		s.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		return s
	}
	made := secret()
	made.UID, made.ResourceVersion = "0815", "7"
	list := &corev1.SecretList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}, Items: []corev1.Secret{*made}}
	list.Items[0].SetGroupVersionKind(schema.GroupVersionKind{})
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "db", fmt.Errorf("no")).Status()
	forbidden.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Status"))
	info := request.RequestInfo{IsResourceRequest: true, APIVersion: "v1", Resource: "secrets", Namespace: "demo"}
	with := func(verb, name string) request.RequestInfo {
		i := info
		i.Verb, i.Name = verb, name
		return i
	}
	const path = "/api/v1/namespaces/demo/secrets"
	return []exchange{
		{name: "create", method: "POST", uri: path, info: with("create", ""), body: secret(), answer: made, code: 201},
		{name: "get as bob", method: "GET", uri: path + "/db", info: with("get", "db"), answer: made, code: 200, as: &user.DefaultInfo{Name: "bob", Groups: []string{"system:authenticated"}}},
		{name: "list", method: "GET", uri: path + "?limit=500", info: with("list", ""), answer: list, code: 200},
		{name: "patch", method: "PATCH", uri: path + "/db", info: with("patch", "db"), patch: []byte(`{"data":{"a":null}}`), answer: made, code: 200},
		{name: "refused", method: "DELETE", uri: path + "/db", info: with("delete", "db"), answer: &forbidden, code: 403},
	}
}

// What is written of a request is, byte for byte, what upstream's filter and log
// backend write, but for the time of the stages, which is the machine's there.
func TestEventsAsUpstream(t *testing.T) {
	for _, level := range []string{"Metadata", "Request", "RequestResponse"} {
		for _, managed := range []string{"true", "false"} {
			data := append(file("level: "+level), []byte("omitManagedFields: "+managed+"\n")...)
			for _, x := range exchanges() {
				want, got := theirs(t, data, x), ours(t, data, x)
				if want != got {
					t.Errorf("%s at %s, omitManagedFields %s: upstream writes\n%skviz writes\n%s", x.name, level, managed, want, got)
				}
			}
		}
	}
}

// theirs takes an exchange through upstream's filter.
func theirs(t *testing.T, data []byte, x exchange) string {
	t.Helper()
	var out bytes.Buffer
	loaded, err := auditpolicy.LoadPolicyFromBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	gv := corev1.SchemeGroupVersion
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if x.as != nil {
			upstream.LogImpersonatedUser(ctx, x.as, "")
		}
		upstream.AddAuditAnnotations(ctx, "authorization.k8s.io/decision", "allow", "authorization.k8s.io/reason", "")
		if x.body != nil {
			upstream.LogRequestObject(ctx, x.body, gv, gv.WithResource("secrets"), "", scheme.Codecs)
		}
		if x.patch != nil {
			upstream.LogRequestPatch(ctx, x.patch)
		}
		upstream.LogResponseObject(ctx, x.answer, gv, scheme.Codecs)
		w.WriteHeader(x.code)
	})
	h := filters.WithAudit(inner, auditlog.NewBackend(&out, auditlog.FormatJson, auditv1.SchemeGroupVersion), auditpolicy.NewPolicyRuleEvaluator(loaded),
		func(*http.Request, *request.RequestInfo) bool { return false })
	r := httptest.NewRequest(x.method, x.uri, nil)
	r.RemoteAddr = "10.0.0.9:4242"
	r.Header.Set("User-Agent", "kubectl/v1.37.2")
	ctx := upstream.WithAuditContext(request.WithRequestInfo(request.WithUser(r.Context(), alice), &x.info))
	upstream.WithAuditID(ctx, "an-id")
	h.ServeHTTP(httptest.NewRecorder(), r.WithContext(request.WithReceivedTimestamp(ctx, received)))
	return stageTime.ReplaceAllString(out.String(), `"stageTimestamp":"then"`)
}

var stageTime = regexp.MustCompile(`"stageTimestamp":"[^"]*"`)

func ours(t *testing.T, data []byte, x exchange) string {
	t.Helper()
	p, err := audit.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	i := &x.info
	a := authorizer.AttributesRecord{
		User: alice, Verb: i.Verb, Namespace: i.Namespace, APIVersion: i.APIVersion, Resource: i.Resource, Name: i.Name, ResourceRequest: true,
	}
	var log audit.Log
	rec := audit.Begin(p.Evaluate(a), &audit.Request{
		ID: "an-id", URI: x.uri, UserAgent: "kubectl/v1.37.2", SourceIPs: []string{"10.0.0.9"}, Received: received, Attributes: a,
	}, &log)
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	must(rec.Write(auditapi.StageRequestReceived, received))
	if x.as != nil {
		rec.Impersonated(x.as)
	}
	rec.Annotate("authorization.k8s.io/decision", "allow")
	rec.Annotate("authorization.k8s.io/reason", "")
	if x.body != nil {
		rec.Object(x.body)
	}
	if x.patch != nil {
		rec.Patch(x.patch)
	}
	status, _ := x.answer.(*metav1.Status)
	rec.Answer(x.code, status, func() runtime.Object { return x.answer })
	must(rec.Write(auditapi.StageResponseComplete, received.Add(time.Millisecond)))
	b, err := log.Read(audit.LogFile)
	must(err)
	return stageTime.ReplaceAllString(string(b), `"stageTimestamp":"then"`)
}

// A log file that is full gets the time into its name, and only so many
// of them are kept; a full disk loses what is written meanwhile, and counts it.
func TestRotationAndFullDisk(t *testing.T) {
	log := audit.Log{Size: 1000, Backups: 2}
	now := received
	write := func(n int) (failed int) {
		for range n {
			now = now.Add(time.Second)
			ev := &auditapi.Event{Level: auditapi.LevelMetadata, Verb: "get", RequestURI: "/api/v1/pods", Stage: auditapi.StageResponseComplete}
			if err := log.Write(ev, now); err != nil {
				if want := "write /var/log/kubernetes/audit.log: no space left on device"; err.Error() != want {
					t.Errorf("error %v; want %s", err, want)
				}
				failed++
			}
		}
		return failed
	}
	write(16)
	want := []string{"/var/log/kubernetes/audit-2026-01-01T00-00-10.000.log", "/var/log/kubernetes/audit-2026-01-01T00-00-14.000.log", audit.LogFile}
	if got := log.Files(); !slices.Equal(got, want) {
		t.Errorf("files %v; want %v", got, want)
	}
	lines := 0
	for _, name := range log.Files() {
		b, err := log.Read(name)
		if err != nil || len(b) > 1000 || !bytes.HasSuffix(b, []byte("\n")) {
			t.Errorf("%s: %d bytes, error %v", name, len(b), err)
		}
		lines += bytes.Count(b, []byte("\n"))
	}
	if lines != 12 {
		t.Errorf("%d lines are kept; want 12", lines)
	}
	log.Fill(true)
	if n := write(3); n != 3 {
		t.Errorf("%d of 3 failed on a full disk", n)
	}
	log.Fill(false)
	if n := write(1); n != 0 {
		t.Error("it fails on a disk with room")
	}
	if events, failures := log.Counts(); events != 20 || failures != 3 {
		t.Errorf("%d events, %d failures; want 20 and 3", events, failures)
	}
	if err := log.Write(&auditapi.Event{RequestURI: strings.Repeat("x", 2000)}, now); err == nil || !strings.Contains(err.Error(), "exceeds maximum file size 1000") {
		t.Errorf("a line longer than a file: error %v", err)
	}
}
