package apiserver

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"kviz/cluster/apiserver/request"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// FuzzList: no selector, continue token or other option of a list, watch or
// deletion of a collection, of whatever kind, ends the server or is answered with
// "internal error".
func FuzzList(f *testing.F) {
	g := newTarget(f)
	token := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	next := g.ask(f, &request.Request{
		Verb: "list", Resource: client.ClusterRoles.GroupVersionResource, User: ptr.To(authn.Admin()), List: metav1.ListOptions{Limit: 2},
	}).ListMeta.Continue
	f.Add("list clusterroles.v1.rbac.authorization.k8s.io", "", "", next, "", "", int64(2))
	f.Add("list clusterroles.v1.rbac.authorization.k8s.io", "a=b", "metadata.name=x", next[1:], "0", "", int64(-2))
	for i, s := range []string{
		`{"v":"meta.k8s.io/v1","rv":-1,"start":"default/x"}`, `{"v":"meta.k8s.io/v1","rv":1,"start":"../secrets/kube-system/x"}`,
		`{"v":"meta.k8s.io/v1","rv":9223372036854775807,"start":"\u0000"}`, `{"v":"v2"}`, `{"v":"meta.k8s.io/v1","rv":0,"start":"/"}`, `[]`, ``,
	} {
		f.Add("list pods.v1", "", "", token(s), "", "", int64(i))
	}
	for i, s := range []string{
		"a=b", "a in (b,c),!d,e", "a notin (", "a in ()", "=", "!", "a,,b", "x==y,x!=y", "kubernetes.io/a/b", "a>1,b<x", "\x00", "a in (b", "é=é",
	} {
		f.Add("list pods.v1", s, "", "", "", "", int64(0))
		f.Add("watch pods.v1", s, "", "", "0", "", int64(i))
		f.Add("deletecollection pods.v1", s, "", "", "", "", int64(0))
	}
	for _, s := range []string{"metadata.name=one", "spec.nodeName!=x,status.phase=Running", "nosuch=1", "metadata.name", "a\\=b=c", "a=b\\", "metadata.name in (a)", "=,="} {
		f.Add("list pods.v1", "", s, "", "", "", int64(0))
		f.Add("list crontabs.v1.stable.example.com", "", s, "", "", "", int64(0))
	}
	for _, rv := range []string{"0", "1", "-1", "abc", "99999", "18446744073709551615", "9223372036854775807", "00", "+1"} {
		for _, match := range []string{"", "Exact", "NotOlderThan", "Sideways"} {
			f.Add("list pods.v1", "", "", "", rv, match, int64(1))
			f.Add("watch pods.v1", "", "", "", rv, match, int64(1))
		}
	}
	actions := g.actions("list")
	for _, what := range slices.Sorted(maps.Keys(actions)) {
		for _, s := range g.samples[actions[what].kind.GroupResource().String()].Selectors {
			f.Add(what, "", s, "", "", "", int64(1))
		}
	}
	f.Add("list pods.v1", "", "", "", "", "", int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, what, label, field, next, rv, match string, limit int64) {
		a := g.pick(what, "list", "watch", "deletecollection")
		r := g.request(a)
		r.List = metav1.ListOptions{LabelSelector: label, FieldSelector: field, Continue: next, ResourceVersion: rv, ResourceVersionMatch: metav1.ResourceVersionMatch(match), Limit: limit}
		r.List.AllowWatchBookmarks = limit%2 == 0
		if limit%4 == 3 {
			r.List.SendInitialEvents = ptr.To(limit%8 == 3)
		}
		r.DryRun = a.verb == "deletecollection"
		for pages := 0; ; pages++ {
			resp := g.ask(t, r)
			if resp.ListMeta.Continue == "" {
				break
			}
			if pages > 1000 {
				t.Fatalf("the list has no end: %+v", r.List)
			}
			r.List.Continue, r.List.ResourceVersion, r.List.ResourceVersionMatch = resp.ListMeta.Continue, "", ""
		}
	})
}

// FuzzCredentials: nothing that is shown as a certificate or token is answered with
// anything but who it is, "Unauthorized" or "Forbidden"; and nothing but what the
// authority has signed, or a token it made, is somebody.
func FuzzCredentials(f *testing.F) {
	g := newTarget(f)
	var certs [][]byte
	var tokens []string
	g.call(func(t *sim.Task) {
		for _, who := range []struct {
			name   string
			groups []string
		}{{"jane", []string{"dev"}}, {"system:node:n", []string{"system:nodes"}}, {"", nil}} {
			if b, _, err := g.server.Authenticators().Authority.Issue(who.name, who.groups, t.Now(), time.Hour); err == nil {
				block, _ := pem.Decode(b)
				certs = append(certs, block.Bytes)
			}
		}
	})
	for _, audience := range []string{"", "other"} {
		body := `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":3600}}`
		if audience != "" {
			body = fmt.Sprintf(`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":[%q],"expirationSeconds":3600}}`, audience)
		}
		r := g.request(g.actions("create")["create serviceaccounts.v1/token"])
		r.Body, r.ContentType, r.DryRun = []byte(body), "application/json", false
		resp := g.ask(f, r)
		if resp.Err != nil {
			f.Fatal(resp.Err)
		}
		tokens = append(tokens, resp.Object.(*authenticationv1.TokenRequest).Status.Token)
	}
	for _, b := range certs {
		f.Add(b, "")
		f.Add(b, tokens[0])
		f.Add(b[:len(b)-1], "")
		for at := 10; at < len(b); at += 31 {
			bad := slices.Clone(b)
			bad[at] ^= 1
			f.Add(bad, "")
		}
	}
	for _, s := range tokens {
		f.Add([]byte{}, s)
		for at := 1; at < len(s); at += 97 {
			f.Add([]byte{}, s[:at]+"A"+s[at+1:])
			f.Add([]byte{}, s[:at])
		}
	}
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`))
	claims := base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"https://kubernetes.default.svc.cluster.local","sub":"system:serviceaccount:kube-system:x","aud":["https://kubernetes.default.svc.cluster.local"],"exp":99999999999}`))
	f.Add([]byte{}, none+"."+claims+".")
	f.Add([]byte{}, "abcdef.0123456789abcdef")
	f.Add([]byte("certificate"), "a.b.c")
	f.Fuzz(func(t *testing.T, der []byte, token string) {
		r := g.request(g.actions("create")["create selfsubjectreviews.v1.authentication.k8s.io"])
		r.User, r.Token = nil, token
		r.Body, r.ContentType = []byte(subBodies["create selfsubjectreviews.v1.authentication.k8s.io"]), "application/json"
		if cert, err := x509.ParseCertificate(der); err == nil {
			r.Certificates = []*x509.Certificate{cert}
		}
		if len(r.Certificates) == 0 && token == "" {
			return
		}
		resp := g.ask(t, r)
		if resp.Err != nil {
			return
		}
		// A signature can be written in more than one way, so what counts is who it is.
		switch name := resp.Object.(*authenticationv1.SelfSubjectReview).Status.UserInfo.Username; name {
		case "jane", "system:node:n", "system:serviceaccount:default:one":
		default:
			t.Errorf("taken for %q", name)
		}
	})
}
