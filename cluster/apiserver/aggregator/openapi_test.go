package aggregator

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"kviz/cluster/remote"
)

// What a server told of OpenAPI v2 stays when it tells nothing, or nonsense; it is
// asked for another document than the one that is known, if it names its documents; and
// only what is of the APIService's group version is kept.
func TestLearnOpenAPIv2(t *testing.T) {
	svc := &apiregistration.APIService{Spec: apiregistration.APIServiceSpec{Group: "example.com", Version: "v1"}}
	swagger := func(title, version string) []byte {
		return fmt.Appendf(nil, `{"swagger":"2.0","info":{"title":%q,"version":"1"},"paths":{"/apis/example.com/%s/hats":{},"/apis/apps/v1/deployments":{}}}`, title, version)
	}
	var d OpenAPIv2Document
	told := func(answer remote.Answer) (said string) {
		have := "nobody asked"
		d.learn(svc, func(h string) remote.Answer { have = h; return answer })
		said = fmt.Sprintf("asked with %q: ", have)
		if d.Spec == nil {
			return said + "nothing"
		}
		var paths []string
		for p := range d.Spec.Paths.Paths {
			paths = append(paths, p)
		}
		return said + d.Spec.Info.Title + " " + strings.Join(paths, " ")
	}
	tag := func(etag string, code int, body []byte) remote.Answer {
		return remote.Answer{Code: code, Header: http.Header{"Etag": {etag}}, Body: body}
	}
	for i, c := range []struct {
		answer remote.Answer
		want   string
	}{
		{remote.Answer{}, `asked with "": nothing`},
		{remote.Answer{Code: 404}, `asked with "": nothing`},
		{tag(`"1"`, 200, []byte("{")), `asked with "": nothing`},
		{tag(`"1"`, 200, swagger("one", "v1")), `asked with "": one /apis/example.com/v1/hats`},
		{tag(`"1"`, 304, nil), `asked with "\"1\"": one /apis/example.com/v1/hats`},
		{remote.Answer{}, `asked with "\"1\"": one /apis/example.com/v1/hats`},
		{remote.Answer{Code: 404}, `asked with "\"1\"": one /apis/example.com/v1/hats`},
		{tag(`"2"`, 200, []byte("no JSON")), `asked with "\"1\"": one /apis/example.com/v1/hats`},
		{tag(`"2"`, 200, swagger("two", "v1")), `asked with "\"1\"": two /apis/example.com/v1/hats`},
		{remote.Answer{Code: 200, Body: swagger("three", "v1")}, `asked with "\"2\"": three /apis/example.com/v1/hats`},
		{remote.Answer{Code: 200, Body: swagger("four", "v1")}, `asked with "": four /apis/example.com/v1/hats`},
		{remote.Answer{Code: 200, Body: swagger("five", "v2")}, `asked with "": five `},
	} {
		if got := told(c.answer); got != c.want {
			t.Errorf("%d: %s, want %s", i, got, c.want)
		}
	}
	same := d.Spec
	told(remote.Answer{Code: 200, Body: swagger("five", "v2")})
	if d.Spec != same {
		t.Error("the same document without an ETag was taken for another one")
	}
}
