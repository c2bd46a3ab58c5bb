package apiserver

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kviz/cluster/apiserver/request"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// felt sends a request and reports for how long nobody else was answered, at most.
func (g *target) felt(b *testing.B, name string, req *request.Request) {
	g.tb = b
	stop, worst := make(chan struct{}), make(chan time.Duration)
	go func() {
		var most time.Duration
		for {
			select {
			case <-stop:
				worst <- most
				return
			case <-time.After(time.Millisecond):
			}
			asked := time.Now()
			_ = g.kernel.Do(func() {})
			most = max(most, time.Since(asked))
		}
	}()
	sent := time.Now()
	var resp *request.Response
	g.call(func(t *sim.Task) { resp = g.server.Handle(t, req) })
	took := time.Since(sent)
	close(stop)
	refused := ""
	if resp.Err != nil {
		refused = resp.Err.Error()
		refused = "  " + refused[:min(len(refused), 160)]
	}
	fmt.Printf("%-32s %4d after %8v; others waited %8v%s\n", name, resp.Code, took.Round(time.Millisecond), (<-worst).Round(time.Millisecond), refused)
}

// BenchmarkBigRequests sends what is known to take long, and prints for how long it keeps
// everybody else waiting beside how long it takes. A row whose request is refused says so in
// its name; where it is refused for another reason, the row measures nothing. The sizes leave
// room for the managed fields within what etcd takes of one request, 1.5 MiB.
func BenchmarkBigRequests(b *testing.B) {
	g := newTarget(b)
	k := map[string]*registry.Kind{}
	for _, x := range g.kinds {
		k[x.Kind] = x
	}
	create := func(kind string, body string) *request.Request {
		r := g.request(action{k[kind], "create", ""})
		r.Body, r.ContentType, r.Peer = []byte(body), "application/json", "outside"
		return r
	}
	patch := func(kind, name string, pt types.PatchType, body string) *request.Request {
		r := g.request(action{k[kind], "patch", ""})
		r.Patch, r.Name, r.PatchType, r.Peer = []byte(body), name, pt, "outside"
		return r
	}
	many := func(n int, f string) string {
		var out strings.Builder
		for i := range n {
			if i > 0 {
				out.WriteByte(',')
			}
			out.WriteString(strings.ReplaceAll(f, "%d", fmt.Sprint(i)))
		}
		return out.String()
	}
	big := strings.Repeat("x", 1<<20)
	g.felt(b, "configmap 1 MiB", create("ConfigMap", `{"metadata":{"name":"big"},"data":{"a":"`+big+`"}}`))
	g.felt(b, "configmap 2.9 MiB (too large)", create("ConfigMap", `{"metadata":{"name":"big2"},"data":{"a":"`+strings.Repeat("x", 29<<17)+`"}}`))
	g.felt(b, "configmap 60k keys", create("ConfigMap", `{"metadata":{"name":"keys"},"data":{`+many(60000, `"k%d":""`)+`}}`))
	g.felt(b, "copy bomb (refused)", patch("ConfigMap", "big", types.JSONPatchType, `[`+many(400, `{"op":"copy","from":"/data/a","path":"/data/b%d"}`)+`]`))
	g.felt(b, "10k tests of 1 MB that hold", patch("ConfigMap", "big", types.JSONPatchType, `[`+many(10000, `{"op":"test","path":"/metadata/name","value":"big"}`)+`]`))
	g.felt(b, "10k labels one by one", patch("ConfigMap", "big", types.JSONPatchType, `[{"op":"add","path":"/metadata/labels","value":{}},`+many(9999, `{"op":"add","path":"/metadata/labels/l%d","value":"x"}`)+`]`))
	g.felt(b, "1k tests of 60k keys (one fails)", patch("ConfigMap", "keys", types.JSONPatchType, `[`+many(999, `{"op":"test","path":"/data/k%d","value":""}`)+`,{"op":"test","path":"/data","value":{}}]`))
	g.felt(b, "merge big", patch("ConfigMap", "keys", types.MergePatchType, `{"data":{`+many(60000, `"k%d":null`)+`}}`))
	g.felt(b, "apply 30k keys", patch("ConfigMap", "keys", types.ApplyPatchType, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"keys"},"data":{`+many(30000, `"k%d":"a"`)+`}}`))
	var yb strings.Builder
	yb.WriteString("metadata: {name: yam}\ndata:\n")
	for i := range 50000 {
		fmt.Fprintf(&yb, "  k%d: v\n", i)
	}
	r := create("ConfigMap", yb.String())
	r.ContentType = "application/yaml"
	g.felt(b, "yaml 50k keys", r)
	r = create("ConfigMap", "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: &h [*g,*g,*g,*g,*g,*g,*g,*g,*g]\n")
	r.ContentType = "application/yaml"
	g.felt(b, "yaml aliases (refused)", r)
	r = create("ConfigMap", "a: "+strings.Repeat("[", 1500000))
	r.ContentType = "application/yaml"
	g.felt(b, "yaml deep (refused)", r)
	r = create("ConfigMap", "a: "+strings.Repeat("{a: ", 700000))
	r.ContentType = "application/yaml"
	g.felt(b, "yaml deep maps (refused)", r)
	g.felt(b, "json deep (refused)", create("ConfigMap", `{"data":`+strings.Repeat("[", 1500000)+strings.Repeat("]", 1500000)+`}`))
	pod := func(name, more, c string) string {
		return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"` + name + `"},"spec":{` + more + `"containers":[{"name":"a","image":"b"` + c + `}]}}`
	}
	g.felt(b, "pod 3k env", create("Pod", pod("env", "", `,"env":[`+many(3000, `{"name":"k%d"}`)+`]`)))
	g.felt(b, "strategic 3k env (refused)", patch("Pod", "env", types.StrategicMergePatchType, `{"spec":{"containers":[{"name":"a","env":[`+many(3000, `{"name":"j%d"}`)+`]}]}}`))
	g.felt(b, "strategic order", patch("Pod", "env", types.StrategicMergePatchType, `{"spec":{"containers":[{"name":"a","$setElementOrder/env":[`+many(3000, `{"name":"k%d"}`)+`]}]}}`))
	g.felt(b, "pod 7k spread constraints", create("Pod", pod("spread", `"topologySpreadConstraints":[`+many(7000, `{"maxSkew":1,"topologyKey":"k%d","whenUnsatisfiable":"DoNotSchedule"}`)+`],`, "")))
	g.felt(b, "pod 4k tolerations", create("Pod", pod("tol", `"tolerations":[`+many(4000, `{"key":"k%d","operator":"Exists"}`)+`],`, "")))
	g.felt(b, "pod update 4k tolerations", patch("Pod", "tol", types.MergePatchType, `{"spec":{"tolerations":[`+many(4000, `{"key":"k%d","operator":"Exists"}`)+`,{"key":"more","operator":"Exists"}]}}`))
	g.felt(b, "pod 20k containers (refused)", create("Pod", `{"metadata":{"name":"cs"},"spec":{"containers":[`+many(20000, `{"name":"c%d","image":"b"}`)+`]}}`))
	g.felt(b, "pod 4k volumes", create("Pod", pod("vol", `"volumes":[`+many(4000, `{"name":"c%d","emptyDir":{}}`)+`],`, `,"volumeMounts":[`+many(4000, `{"name":"c%d","mountPath":"/a%d"}`)+`]`)))
	g.felt(b, "pod 50k host aliases", create("Pod", pod("ha", `"hostAliases":[`+many(50000, `{"ip":"1.2.3.4","hostnames":["a"]}`)+`],`, ``)))
	g.felt(b, "owners 20k", create("ConfigMap", `{"metadata":{"name":"own","ownerReferences":[`+many(20000, `{"apiVersion":"v1","kind":"Pod","name":"a","uid":"%d"}`)+`]}}`))
	g.felt(b, "finalizers 25k", create("ConfigMap", `{"metadata":{"name":"fin","finalizers":[`+many(25000, `"a.b/c%d"`)+`]}}`))
	g.felt(b, "finalizers 25k update", patch("ConfigMap", "fin", types.MergePatchType, `{"metadata":{"finalizers":[`+many(24000, `"a.b/c%d"`)+`]}}`))
	g.felt(b, "finalizers strategic 5k", patch("ConfigMap", "fin", types.StrategicMergePatchType, `{"metadata":{"finalizers":[`+many(5000, `"a.b/d%d"`)+`]}}`))
	mf := many(6000, `{"manager":"m%d","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}}`)
	g.felt(b, "6k managers", create("ConfigMap", `{"metadata":{"name":"man","managedFields":[`+mf+`]},"data":{"a":"b"}}`))
	forced := patch("ConfigMap", "man", types.ApplyPatchType, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"man"},"data":{"a":"c"}}`)
	forced.Force = true
	g.felt(b, "6k managers apply", forced)
	g.felt(b, "6k managers patch", patch("ConfigMap", "man", types.MergePatchType, `{"data":{"a":"d"}}`))
	g.felt(b, "service 5k ports", create("Service", `{"metadata":{"name":"sv"},"spec":{"ports":[`+many(5000, `{"name":"p%d","port":1%d}`)+`]}}`))
	g.felt(b, "role 20k rules", create("ClusterRole", `{"metadata":{"name":"ro"},"rules":[`+many(20000, `{"verbs":["get"],"apiGroups":[""],"resources":["r%d"]}`)+`]}`))
	np := many(20000, `{"from":[{"ipBlock":{"cidr":"10.0.0.0/8"}}]}`)
	g.felt(b, "netpol 20k", create("NetworkPolicy", `{"metadata":{"name":"np"},"spec":{"podSelector":{},"ingress":[`+np+`]}}`))
	crd := func(name, schema string) string {
		return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"` + name + `.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"` + name + `","kind":"` + strings.ToUpper(name[:1]) + name[1:] + `"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":` + schema + `}}]}}`
	}
	g.felt(b, "crd 5k rules", create("CustomResourceDefinition", crd("rules", `{"type":"object","x-kubernetes-validations":[`+many(5000, `{"rule":"%d >= 0"}`)+`]}`)))
	g.felt(b, "crd deep (refused)", create("CustomResourceDefinition", crd("deeps", strings.Repeat(`{"type":"object","properties":{"a":`, 4000)+`{"type":"string"}`+strings.Repeat(`}}`, 4000))))
	g.felt(b, "crd enum 100k", create("CustomResourceDefinition", crd("enums", `{"type":"object","properties":{"a":{"type":"string","enum":[`+many(100000, `"e%d"`)+`]}}}`)))
	g.felt(b, "crd 20k properties", create("CustomResourceDefinition", crd("props", `{"type":"object","properties":{`+many(20000, `"p%d":{"type":"string","default":"a"}`)+`}}`)))
	g.felt(b, "crd pattern", create("CustomResourceDefinition", crd("pats", `{"type":"object","properties":{"a":{"type":"string","pattern":"((a?){30}){30}b"}}}`)))
	g.felt(b, "crd sets", create("CustomResourceDefinition", crd("sets", `{"type":"object","properties":{"a":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},"m":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"}}}}}}`)))
	g.call(func(t *sim.Task) { t.Sleep(5 * time.Second) })
	for _, x := range g.server.Resources() {
		k[x.Kind] = x
	}
	named := func(name, kind, body string) *request.Request {
		return create(kind, `{"apiVersion":"example.com/v1","kind":"`+kind+`","metadata":{"name":"`+name+`"},`+body+`}`)
	}
	cr := func(kind, body string) *request.Request { return named("a", kind, body) }
	g.felt(b, "rules", cr("Rules", `"a":1`))
	g.felt(b, "enum", cr("Enums", `"a":"e99999"`))
	g.felt(b, "enum (not in it)", cr("Enums", `"a":"x"`))
	g.felt(b, "props", cr("Props", `"p1":"x"`))
	g.felt(b, "pattern (does not match, beside the kernel)", cr("Pats", `"a":"`+strings.Repeat("a", 100000)+`"`))
	g.felt(b, "set 25k", cr("Sets", `"a":[`+many(25000, `"e%d"`)+`]`))
	g.felt(b, "map 12k", named("c", "Sets", `"m":[`+many(12000, `{"k":"e%d"}`)+`]`))
	g.felt(b, "map 12k apply", patch("Sets", "b", types.ApplyPatchType, `{"apiVersion":"example.com/v1","kind":"Sets","metadata":{"name":"b"},"m":[`+many(12000, `{"k":"e%d"}`)+`]}`))
	g.felt(b, "map 12k apply again", patch("Sets", "b", types.ApplyPatchType, `{"apiVersion":"example.com/v1","kind":"Sets","metadata":{"name":"b"},"m":[`+many(12000, `{"k":"e%d"}`)+`]}`))
	g.felt(b, "map 10k patch", patch("Sets", "b", types.MergePatchType, `{"m":[`+many(10000, `{"k":"f%d"}`)+`]}`))
	wh := `{"metadata":{"name":"w"},"webhooks":[` + many(100, `{"name":"a%d.b.c","clientConfig":{"url":"https://x.y"},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[{"apiGroups":["x"],"apiVersions":["v1"],"resources":["y"],"operations":["*"]}],"matchConditions":[MC]}`) + `]}`
	wh = strings.ReplaceAll(wh, "MC", many(60, `{"name":"c%d","expression":"object.metadata.name == 'x%d'"}`))
	g.felt(b, "webhooks 6k conditions", create("ValidatingWebhookConfiguration", wh))
	g.felt(b, "policy 3k validations", create("ValidatingAdmissionPolicy", `{"metadata":{"name":"w"},"spec":{"failurePolicy":"Ignore","matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]},"validations":[`+many(3000, `{"expression":"object.metadata.name != 'x%d'"}`)+`]}}`))
	g.felt(b, "policy binding", create("ValidatingAdmissionPolicyBinding", `{"metadata":{"name":"w"},"spec":{"policyName":"w","validationActions":["Deny"]}}`))
	g.felt(b, "under the policy", create("ConfigMap", `{"metadata":{"name":"p1"}}`))
	g.felt(b, "under the policy", create("ConfigMap", `{"metadata":{"name":"p2"}}`))
	g.call(func(t *sim.Task) {
		w := &world{t: g.tb, k: g.kernel, s: g.server, user: g.sender}
		for i := range 5000 {
			w.admin().Create(t, client.Leases, "default", leaseNamed(i))
		}
	})
	l := g.request(action{k["Lease"], "list", ""})
	g.felt(b, "list 5k", l)
	l = g.request(action{k["Lease"], "list", ""})
	l.List.LabelSelector = many(40000, "!l%d")
	g.felt(b, "list 5k, 40k requirements", l)
	l = g.request(action{k["Lease"], "list", ""})
	l.List.FieldSelector = many(30000, "metadata.name!=a%d")
	g.felt(b, "list 5k, 30k fields", l)
}

func leaseNamed(i int) *coordinationv1.Lease {
	l := &coordinationv1.Lease{}
	l.Name, l.Namespace = fmt.Sprintf("l%d", i), "default"
	return l
}
