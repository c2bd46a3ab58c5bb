package proof

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"sigs.k8s.io/yaml"
)

// compared are the headers that a client may go by.
var compared = []string{"Content-Type", "Warning", "Retry-After", "Cache-Control", "Allow", "Accept-Patch"}

// normal is an answer as text, without what two servers cannot have in common.
func normal(a answer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", a.code)
	for _, name := range compared {
		values := slices.Clone(a.header.Values(name))
		slices.Sort(values) // warnings: their order is a client's no matter
		for _, v := range values {
			fmt.Fprintf(&b, "%s: %s\n", name, text(v))
		}
	}
	b.WriteString(body(a.header, a.body))
	return b.String()
}

func body(h http.Header, b []byte) string {
	switch mediaType, _, _ := strings.Cut(h.Get("Content-Type"), ";"); {
	case mediaType == "application/json" || mediaType == "application/jwk-set+json":
	case mediaType == "application/yaml":
		j, err := yaml.YAMLToJSON(b)
		if err != nil {
			return "not YAML: " + string(b)
		}
		b = j
	case mediaType == "application/vnd.kubernetes.protobuf":
		obj, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(b, nil, nil)
		if err != nil {
			return "not an object: " + err.Error()
		}
		if j, err := json.Marshal(obj); err == nil {
			b = j
		}
	default:
		return text(string(b))
	}
	var lines []string
	for dec := json.NewDecoder(bytes.NewReader(b)); dec.More(); { // a watch has several
		var v any
		if err := dec.Decode(&v); err != nil {
			return "not JSON: " + string(b)
		}
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", " ")
		if err := enc.Encode(value("", v)); err != nil {
			return err.Error()
		}
		lines = append(lines, strings.TrimRight(out.String(), "\n"))
	}
	return strings.Join(lines, "\n")
}

// value is a part of an answer under a key.
func value(key string, v any) any {
	switch v := v.(type) {
	case string:
		return word(key, v)
	case float64:
		if (key == "nodePort" || key == "healthCheckNodePort") && v >= 30000 { // a dry run draws from beyond the range
			return "<port>"
		}
		if key == "targetPort" && (v == 6443 || v > 32767) { // where the server itself listens
			return "<its port>"
		}
	case []any:
		for i := range v {
			v[i] = value(key, v[i])
		}
		if key == "managedFields" {
			v = slices.DeleteFunc(v, ofTheServer)
		}
		if key == "managedFields" || key == "causes" || key == "resourceRules" || key == "nonResourceRules" {
			// Writes of one second, and complaints and rules in the order of a Go map.
			slices.SortStableFunc(v, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
		return v
	case map[string]any:
		if prefix, ok := v["generateName"].(string); ok && prefix != "" {
			if name, ok := v["name"].(string); ok && strings.HasPrefix(name, prefix) {
				v["name"] = prefix + "<generated>"
			}
		}
		switch v["kind"] {
		case "Table":
			cells(v)
		case "CustomResourceDefinition", "FlowSchema", "APIService":
			settle(v)
		case "CustomResourceDefinitionList", "FlowSchemaList", "APIServiceList":
			items, _ := v["items"].([]any)
			for _, item := range items {
				settle(item)
			}
		}
		for k := range v {
			v[k] = value(k, v[k])
			if all, ok := v[k].([]any); ok && k == "managedFields" && len(all) == 0 {
				delete(v, k)
			}
		}
	}
	return v
}

// ofTheServer reports whether a managed fields' entry is of the server's own
// controllers, who call themselves by the program they are in. What they write at the
// start is compared, of the groups in which they write nothing later.
func ofTheServer(entry any) bool {
	m, _ := entry.(map[string]any)
	if m["manager"] == filepath.Base(os.Args[0]) {
		m["manager"] = "kube-apiserver"
	}
	switch m["apiVersion"] {
	case "rbac.authorization.k8s.io/v1", "scheduling.k8s.io/v1", "networking.k8s.io/v1":
		return false
	}
	return m["manager"] == "kube-apiserver" || m["manager"] == "api-priority-and-fairness-config-consumer-v1"
}

// settle leaves out of a definition, a flow schema or an APIService what controllers
// make of it some milliseconds after it was written.
func settle(v any) {
	if definition, ok := v.(map[string]any); ok {
		delete(definition, "status")
	}
}

// cells of a table that tell a time tell it relative to now.
func cells(table map[string]any) {
	rows, _ := table["rows"].([]any)
	for _, r := range rows {
		row, _ := r.(map[string]any)
		cells, _ := row["cells"].([]any)
		for i := range cells {
			if s, ok := cells[i].(string); ok && age.MatchString(s) {
				cells[i] = "<age>"
			}
		}
	}
}

var (
	age     = regexp.MustCompile(`^([0-9]+[smhdy])+( ago)?$`)
	uid     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	moment  = regexp.MustCompile(`20(2[5-9]|[3-9][0-9])-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9:]+)`)
	cluster = regexp.MustCompile(`\b10\.96\.[0-9]+\.[0-9]+\b`)
	// Revisions in messages: what a list waits for in vain, what a deletion was
	// based on, an object that could not be read.
	revision = regexp.MustCompile(`(current: |in object meta: |in record \(|resourceVersion\\*":\\*")[0-9]+`)
	volume   = regexp.MustCompile(`kube-api-access-[b-df-hj-np-tv-z2-9]{5}\b`)
	drawn    = regexp.MustCompile(`\b(made-|Bad_z)[b-df-hj-np-tv-z2-9]{5}\b`)
	itsPort  = regexp.MustCompile(`:[0-9]+/`)
	token    = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+`)
)

func word(key, s string) string {
	switch {
	case key == "resourceVersion" && s != "" && s != "0":
		return "<revision>"
	case key == "uid" && s != "":
		return "<uid>"
	case key == "kid" || key == "x" || key == "y": // of the key of service accounts
		return "<key>"
	case key == "jwks_uri":
		return itsPort.ReplaceAllString(s, ":<its port>/")
	case key == "continue" && s != "":
		return "<continue>"
	}
	return text(s)
}

func text(s string) string {
	s = uid.ReplaceAllString(s, "<uid>") // before revisions: one may begin with digits
	s = revision.ReplaceAllString(s, "$1<revision>")
	s = volume.ReplaceAllString(s, "kube-api-access-<generated>")
	s = drawn.ReplaceAllString(s, "$1<generated>")
	s = moment.ReplaceAllString(s, "<time>")
	s = token.ReplaceAllString(s, "<token>")
	return cluster.ReplaceAllString(s, "<cluster IP>")
}
