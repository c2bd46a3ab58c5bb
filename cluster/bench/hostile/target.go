package hostile

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Namespace is where the weak client may do its little.
const Namespace = "hostile"

// Target is a server under attack.
type Target struct {
	url         string
	admin, weak string // tokens
}

// Prepare makes what the attack needs on a server: a namespace, kinds of its own, objects to
// read, and the weak client. What that may do in its namespace: everything with Pods,
// ConfigMaps, Services and objects of the kinds, and outside of it: ask for certificates.
// The server's certificate is not checked.
func Prepare(ctx context.Context, url, adminToken string) (*Target, error) {
	t := &Target{url: url, admin: adminToken}
	client := t.client()
	defer client.CloseIdleConnections()
	for _, m := range setup() {
		if err := t.make(ctx, client, m); err != nil {
			return nil, err
		}
	}
	token, err := t.must(ctx, client, Request{
		Method: http.MethodPost, Path: core + "serviceaccounts/weak/token", Type: jsonType,
		Body: encode(object{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": object{"expirationSeconds": 86400}}),
	}, http.StatusCreated)
	if err != nil {
		return nil, err
	}
	var answer struct{ Status struct{ Token string } }
	if err := json.Unmarshal(token, &answer); err != nil {
		return nil, fmt.Errorf("a token of the weak client: %w", err)
	}
	t.weak = answer.Status.Token
	return t, t.fill(ctx, client)
}

// fill makes the objects that are read, as soon as their kinds are served.
func (t *Target) fill(ctx context.Context, client *http.Client) error {
	for i := range bigs {
		o := object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": fmt.Sprintf("big-%d", i), "labels": object{"a": fmt.Sprintf("v%d", i)}}, "data": object{"k": text(bigBytes)}}
		if err := t.make(ctx, client, made{core + "configmaps", o}); err != nil {
			return err
		}
	}
	deep := object{"apiVersion": "example.com/v1", "kind": "Free", "metadata": object{"name": "deep"}, "spec": nested(60)}
	return t.make(ctx, client, made{custom + "free", deep})
}

// What there is to read in the namespace: some megabytes, and an object that is a little deep.
const (
	bigs     = 40
	bigBytes = 100 << 10
)

// made is an object that the administrator makes.
type made struct {
	path   string
	object object
}

// make makes it, and waits until the server knows its kind and its account.
func (t *Target) make(ctx context.Context, client *http.Client, m made) error {
	r := Request{Method: http.MethodPost, Path: m.path, Type: jsonType, Body: encode(m.object)}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		_, err := t.must(ctx, client, r, http.StatusCreated)
		if err == nil || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
	}
}

// must sends a request as the administrator and fails where the answer is another.
func (t *Target) must(ctx context.Context, client *http.Client, r Request, want int) ([]byte, error) {
	resp, err := t.do(ctx, client, t.admin, r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
	}
	if resp.StatusCode != want {
		return nil, fmt.Errorf("%s %s: %s: %.300s", r.Method, r.Path, resp.Status, b)
	}
	return b, nil
}

func (t *Target) do(ctx context.Context, client *http.Client, token string, r Request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, t.url+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if r.Type != "" {
		req.Header.Set("Content-Type", r.Type)
	}
	if r.Accept != "" {
		req.Header.Set("Accept", r.Accept)
	}
	return client.Do(req)
}

func (t *Target) client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // it was made a moment ago
	}}
}

// setup is what the administrator makes first.
func setup() []made {
	all := []made{
		{"/api/v1/namespaces", object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": Namespace}}},
		{core + "serviceaccounts", object{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": object{"name": "weak"}}},
		{rbac + "namespaces/" + Namespace + "/roles", object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": object{"name": "little"}, "rules": list{
			object{"apiGroups": list{""}, "resources": list{"pods", "configmaps", "services"}, "verbs": list{"*"}},
			object{"apiGroups": list{"example.com"}, "resources": list{"*"}, "verbs": list{"*"}},
		}}},
		{rbac + "namespaces/" + Namespace + "/rolebindings", object{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": object{"name": "little"},
			"roleRef":  object{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "little"},
			"subjects": list{object{"kind": "ServiceAccount", "name": "weak", "namespace": Namespace}},
		}},
		{rbac + "clusterroles", object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": object{"name": "ask-for-certificates"}, "rules": list{
			object{"apiGroups": list{"certificates.k8s.io"}, "resources": list{"certificatesigningrequests"}, "verbs": list{"create"}},
		}}},
		{rbac + "clusterrolebindings", object{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": object{"name": "ask-for-certificates"},
			"roleRef":  object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "ask-for-certificates"},
			"subjects": list{object{"kind": "ServiceAccount", "name": "weak", "namespace": Namespace}},
		}},
	}
	for _, k := range kinds() {
		all = append(all, made{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", k})
	}
	return all
}

// kinds are the kinds of the attack: one with rules, one with a pattern, one that takes everything
// and shows it in columns.
func kinds() []object {
	var rules list
	for i := range 20 {
		rules = append(rules, object{"rule": fmt.Sprintf("self.items.all(x, self.items.all(y, x + y + %d >= 0))", i)})
	}
	items := object{"items": object{"type": "array", "maxItems": 300, "items": object{"type": "integer"}}}
	ruled := object{"type": "object", "properties": object{"spec": object{"type": "object", "properties": items, "x-kubernetes-validations": rules}}}
	shaped := object{"type": "object", "properties": object{"a": object{"type": "string", "pattern": "((a?){30}){30}b$"}}}
	free := object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return []object{
		definition("ruled", "Ruled", ruled),
		definition("shaped", "Shaped", shaped),
		definition("free", "Free", free, object{"name": "x", "type": "string", "jsonPath": ".spec..a..a..a..a..a"}),
	}
}

func definition(plural, kind string, schema object, columns ...any) object {
	version := object{"name": "v1", "served": true, "storage": true, "schema": object{"openAPIV3Schema": schema}}
	if len(columns) > 0 {
		version["additionalPrinterColumns"] = columns
	}
	return object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": plural + ".example.com"},
		"spec": object{"group": "example.com", "scope": "Namespaced", "names": object{"plural": plural, "kind": kind}, "versions": list{version}},
	}
}
