package hostile

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"strings"
)

// part is a way to make one request cost more than its size tells.
type part struct {
	name  string
	build func(*draw) Request
}

var parts = []part{
	{"rules", rules},
	{"pattern", pattern},
	{"deep", deep},
	{"quantity", quantity},
	{"columns", columns},
	{"selector", selector},
	{"watch", watch},
	{"unread", unread},
	{"big write", bigWrite},
	{"key", key},
	{"ports", ports},
	{"patch", patch},
	{"managers", managers},
	{"aliases", aliases},
	{"many items", manyItems},
	{"script", script},
	{"delete", deletion},
	{"changed", changed},
}

func post(path string, o any, detail string, args ...any) Request {
	return Request{Detail: fmt.Sprintf(detail, args...), Method: http.MethodPost, Path: path, Type: jsonType, Body: encode(o)}
}

func ofKind(d *draw, kind string, fields object) object {
	o := object{"apiVersion": "example.com/v1", "kind": kind, "metadata": object{"name": d.name()}}
	for k, v := range fields {
		o[k] = v
	}
	return o
}

// rules has twenty rules over each pair of numbers.
func rules(d *draw) Request {
	items := list{}
	for i := range d.upTo(300) {
		items = append(items, i)
	}
	return post(custom+"ruled", ofKind(d, "Ruled", object{"spec": object{"items": items}}), "20 rules, %d numbers", len(items))
}

// pattern is a string for a pattern with 900 ways to match.
func pattern(d *draw) Request {
	n := d.upTo(500_000)
	return post(custom+"shaped", ofKind(d, "Shaped", object{"a": strings.Repeat("a", n)}), "%d characters", n)
}

// deep is an object of many levels, in each way that objects are sent.
func deep(d *draw) Request {
	n := d.upTo(300_000)
	head := `{"apiVersion":"example.com/v1","kind":"Free","metadata":{"name":"` + d.name() + `"},"spec":`
	r := Request{Detail: fmt.Sprintf("%d deep", n), Method: http.MethodPost, Path: custom + "free", Type: jsonType, Body: []byte(head + deepJSON(n) + "}")}
	at := custom + "free/" + d.name()
	switch d.IntN(7) {
	case 0:
		r.Type = yamlType
	case 1:
		r.Method, r.Path, r.Type = http.MethodPatch, at+"?fieldManager=m", applyType
	case 2:
		r.Method, r.Path, r.Type, r.Body = http.MethodPatch, custom+"free/deep", mergeType, []byte(`{"spec":`+deepJSON(n)+`}`)
	case 3:
		r.Method, r.Path, r.Type, r.Body = http.MethodPatch, custom+"free/deep", patchType, []byte(`[{"op":"add","path":"/spec/b","value":`+deepJSON(n)+`}]`)
	case 4:
		body := append([]byte("\xa1\x64spec"), bytes.Repeat([]byte("\xa1\x61a"), n)...)
		r.Type, r.Body = cborType, append(body, 1)
	case 5:
		r.Body = []byte(head + strings.Repeat("[", n) + strings.Repeat("]", n) + "}")
	}
	r.Detail += ", " + r.Type
	return r
}

// quantity is a Pod that asks for a number with a long exponent.
func quantity(d *draw) Request {
	value := fmt.Sprintf("1e%d", d.upTo(2_000_000_000))
	if d.IntN(3) == 0 {
		value = one(d, "1e-99999999", strings.Repeat("9", d.upTo(100_000)), "0."+strings.Repeat("0", d.upTo(100_000))+"1", "9e9999999999999999999")
	}
	box := object{"name": "c", "image": "nginx", "resources": object{"requests": object{one(d, "cpu", "memory", "example.com/x"): value}}}
	pod := object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": d.name()}, "spec": object{"containers": list{box}}}
	return post(core+"pods?dryRun=All", pod, "%.30s", value)
}

// columns asks for a table whose column descends five times.
func columns(d *draw) Request {
	if d.IntN(2) == 0 {
		n := d.upTo(2000)
		body := `{"spec":` + deepJSON(n) + `}`
		return Request{Detail: fmt.Sprintf("written, %d deep", n), Method: http.MethodPatch, Path: custom + "free/deep", Type: mergeType, Accept: tableType, Body: []byte(body)}
	}
	return Request{Detail: "listed", Method: http.MethodGet, Path: custom + "free", Accept: tableType}
}

// selectors are long ones for labels or fields.
func selectors(d *draw) (query string, n int) {
	n = d.upTo(6000)
	all := make([]string, n)
	if d.IntN(4) == 0 {
		for i := range all {
			all[i] = fmt.Sprintf("metadata.name!=n%d", i)
		}
		return "fieldSelector=" + strings.Join(all, "%2C"), n
	}
	for i := range all {
		all[i] = fmt.Sprintf("!l%d", i)
	}
	return "labelSelector=" + strings.Join(all, "%2C"), n
}

func selector(d *draw) Request {
	query, n := selectors(d)
	return Request{Detail: fmt.Sprintf("%d requirements", n), Method: http.MethodGet, Path: core + one(d, "configmaps", "pods", "services") + "?" + query}
}

// watch has a long selector too, and nobody reads what it sends.
func watch(d *draw) Request {
	query, n := selectors(d)
	path := core + one(d, "configmaps", "pods") + "?watch=1&" + query
	if d.IntN(2) == 0 {
		path += "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	}
	return Request{Detail: fmt.Sprintf("%d requirements", n), Method: http.MethodGet, Path: path, Unread: true}
}

// unread is a list of megabytes, or a watch, that nobody reads.
func unread(d *draw) Request {
	path := core + "configmaps"
	if d.IntN(2) == 0 {
		path += "?watch=1"
	}
	return Request{Detail: "nobody reads it", Method: http.MethodGet, Path: path, Unread: true, Accept: one(d, "", yamlType, cborType, tableType)}
}

// bigWrite changes an object that watches tell of.
func bigWrite(d *draw) Request {
	n := d.upTo(900_000)
	return Request{
		Detail: fmt.Sprintf("%d bytes", n), Method: http.MethodPatch, Path: core + "configmaps/big-" + fmt.Sprint(d.IntN(bigs)), Type: mergeType,
		Body: encode(object{"data": object{"k": text(n)}}),
	}
}

// key is a request for a certificate with a long key.
func key(d *draw) Request {
	bits := max(512, d.upTo(2_000_000))
	modulus := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
	modulus.Add(modulus, big.NewInt(int64(d.Uint32()|1)))
	public := x509.MarshalPKCS1PublicKey(&rsa.PublicKey{N: modulus, E: 65537})
	algorithm := pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}, Parameters: asn1.NullRawValue}
	signed := algorithm
	signed.Algorithm = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11}
	type info struct {
		Version   int
		Subject   asn1.RawValue
		PublicKey struct {
			Algorithm pkix.AlgorithmIdentifier
			Key       asn1.BitString
		}
		Attributes []asn1.RawValue `asn1:"tag:0,set"`
	}
	var i info
	subject, err := asn1.Marshal(pkix.Name{CommonName: "me"}.ToRDNSequence())
	if err != nil {
		panic(err)
	}
	i.Subject = asn1.RawValue{FullBytes: subject}
	i.PublicKey.Algorithm, i.PublicKey.Key = algorithm, asn1.BitString{Bytes: public, BitLength: len(public) * 8}
	der, err := asn1.Marshal(struct {
		Info      info
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}{i, signed, asn1.BitString{Bytes: modulus.Bytes()[:(bits+7)/8], BitLength: (bits + 7) / 8 * 8}})
	if err != nil {
		panic(err)
	}
	csr := object{"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": object{"name": d.name()}, "spec": object{
		"request": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), "signerName": "example.com/any", "usages": list{"client auth"},
	}}
	return post("/apis/certificates.k8s.io/v1/certificatesigningrequests?dryRun=All", csr, "%d bits", bits)
}

// ports is a Service with many of them.
func ports(d *draw) Request {
	var all list
	for i := range d.upTo(400) {
		all = append(all, object{"name": fmt.Sprintf("p%d", i), "port": 1000 + i})
	}
	s := object{"apiVersion": "v1", "kind": "Service", "metadata": object{"name": d.name()}, "spec": object{"selector": object{"a": "w"}, "ports": all}}
	return post(core+"services", s, "%d ports", len(all))
}

// patch is a long patch of each kind.
func patch(d *draw) Request {
	n := d.upTo(5000)
	r := Request{Method: http.MethodPatch, Path: core + "configmaps/big-0?dryRun=All", Type: patchType}
	switch d.IntN(3) {
	case 0: // each copies what the one before has made
		ops := list{object{"op": "add", "path": "/data/c0", "value": text(1000)}}
		for i := range n {
			ops = append(ops, object{"op": "copy", "from": "/data", "path": fmt.Sprintf("/data/c%d", i)})
		}
		r.Body = encode(ops)
	case 1: // each tests all
		var ops list
		for range n {
			ops = append(ops, object{"op": "test", "path": "/metadata/name", "value": "big-0"})
		}
		r.Body = encode(ops)
	default: // lists that are merged by key
		var boxes list
		for i := range n {
			boxes = append(boxes, object{"name": fmt.Sprintf("c%d", i), "image": "nginx", "env": list{object{"name": "A", "value": "b"}}})
		}
		r.Path, r.Type, r.Body = core+"pods/p?dryRun=All", smpType, encode(object{"spec": object{"containers": boxes}})
	}
	r.Detail = fmt.Sprintf("%d of %s", n, r.Type)
	return r
}

// managers applies many fields in the name of ever other managers.
func managers(d *draw) Request {
	data := object{}
	for i := range d.upTo(5000) {
		data[fmt.Sprintf("k%d", i)] = "v"
	}
	o := object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "managed"}, "data": data}
	return Request{
		Detail: fmt.Sprintf("%d fields", len(data)), Method: http.MethodPatch, Type: applyType, Body: encode(o),
		Path: core + "configmaps/managed?force=true&fieldManager=" + fmt.Sprintf("m%d", d.IntN(50)),
	}
}

// aliases is YAML that says the same again and again.
func aliases(d *draw) Request {
	n := d.upTo(40)
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: example.com/v1\nkind: Free\nmetadata: {name: %s}\nspec:\n  a0: &a0 [x, x, x, x, x, x, x, x, x]\n", d.name())
	for i := range n {
		fmt.Fprintf(&b, "  a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), ", "))
	}
	return Request{Detail: fmt.Sprintf("%d levels", n), Method: http.MethodPost, Path: custom + "free", Type: yamlType, Body: []byte(b.String())}
}

// manyItems is a body of many small values, in each form.
func manyItems(d *draw) Request {
	n := d.upTo(200_000)
	kind, head := one(d, jsonType, yamlType), fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Free","metadata":{"name":"%s"},"spec":`, d.name())
	items := "[" + strings.Repeat("{},", n) + "{}]"
	return Request{Detail: fmt.Sprintf("%d items, %s", n, kind), Method: http.MethodPost, Path: custom + "free?dryRun=All", Type: kind, Body: []byte(head + items + "}")}
}

// script is a Pod whose program does not end.
func script(d *draw) Request {
	grow := func(n int) string {
		return "a=abcdefgh; for i in" + strings.Repeat(" 1", n) + `; do a=$a$a; done`
	}
	many := func(n int) string {
		return "a=1; for i in" + strings.Repeat(" 1", n) + `; do a="$a $a"; done`
	}
	program := one(d,
		many(10)+"; for i in $a; do for j in $a; do for k in $a; do :; done; done; done",
		grow(28),
		many(20)+"; for i in $a; do sleep 100000 & done",
		grow(17)+"; while true; do echo $a; done | cat",
		grow(15)+"; while true; do echo $a; done",
		strings.Repeat("(", d.upTo(1_000_000)),
		strings.Repeat("$(", d.upTo(500_000)),
		"f() { f; f; }; f",
		"while true; do :; done",
	)
	pod := object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": d.name(), "labels": object{"a": "w"}}, "spec": object{
		"restartPolicy": one(d, "Never", "Always"), "containers": list{object{"name": "c", "image": "busybox", "command": list{"sh", "-c", program}}},
	}}
	return post(core+"pods", pod, "%.40s, %d bytes", program, len(program))
}

// deletion makes room for what the others make.
func deletion(d *draw) Request {
	path := one(d, core+"pods", core+"services", core+"configmaps", custom+"ruled", custom+"shaped", custom+"free")
	query := "?gracePeriodSeconds=0"
	switch path { // what is read stays
	case custom + "free":
		query += "&fieldSelector=metadata.name%21%3Ddeep"
	case core + "configmaps":
		query += "&labelSelector=app"
	}
	return Request{Detail: "all", Method: http.MethodDelete, Path: path + query}
}
