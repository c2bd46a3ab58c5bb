package secrets

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// body is a request's body that holds a Secret, in any of the formats.
func (p *pass) body(content []byte, contentType string) (out []byte, as string) {
	switch {
	case len(content) == 0:
		return content, contentType
	case strings.Contains(contentType, "protobuf"):
		s := &corev1.Secret{}
		return p.protobuf(content, s, func() marshaled { return p.secret(s) }), contentType
	case strings.Contains(contentType, "yaml"):
		if asJSON, err := yaml.YAMLToJSON(content); err == nil {
			return p.document(asJSON, nil, "", false), runtime.ContentTypeJSON
		}
		return []byte(p.value(string(content))), contentType
	}
	return p.document(content, nil, "", false), contentType
}

// marshaled is an object that has a protobuf.
type marshaled interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// protobuf is an object as clients in Go send it; change gives what is sent instead.
func (p *pass) protobuf(content []byte, into marshaled, change func() marshaled) []byte {
	const magic = "k8s\x00"
	var u runtime.Unknown
	if bytes.HasPrefix(content, []byte(magic)) && u.Unmarshal(content[len(magic):]) == nil && into.Unmarshal(u.Raw) == nil {
		if raw, err := change().Marshal(); err == nil {
			u.Raw = raw
			if out, err := u.Marshal(); err == nil {
				return append([]byte(magic), out...)
			}
		}
	}
	return []byte(p.opaque(string(content)))
}

// patch is a patch of a Secret.
func (p *pass) patch(content []byte, as types.PatchType) []byte {
	if asJSON, err := yaml.YAMLToJSON(content); err == nil && !json.Valid(content) {
		content = asJSON
	}
	if as != types.JSONPatchType && !bytes.HasPrefix(bytes.TrimSpace(content), []byte("[")) {
		return p.document(content, nil, "", false)
	}
	var ops []struct{ Path string }
	if json.Unmarshal(content, &ops) != nil {
		return []byte(p.value(string(content)))
	}
	out, err := splice(content, func(path []string, literal, s string) string {
		if len(path) < 2 || path[1] != "value" {
			return s
		}
		at := append(pointer(ops[index(path[0])].Path), path[2:]...)
		return p.leaf(at, "", false, literal, s)
	})
	if err != nil {
		return []byte(p.value(string(content)))
	}
	return out
}

// pointer is where a JSON pointer leads.
func pointer(s string) []string {
	if s == "" {
		return nil
	}
	path := strings.Split(strings.TrimPrefix(s, "/"), "/")
	for i := range path {
		path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(path[i])
	}
	return path
}

// document is a Secret as JSON, or what stands in one at a place. With exact no literal
// changes its length.
func (p *pass) document(content []byte, at []string, kind string, exact bool) []byte {
	if kind == "" && at == nil {
		var typed struct{ Type string }
		_ = json.Unmarshal(content, &typed) // without one it is as any other
		kind = typed.Type
	}
	out, err := splice(content, func(path []string, literal, s string) string {
		return p.leaf(append(at[:len(at):len(at)], path...), kind, exact, literal, s)
	})
	if err != nil { // it is refused; its words may be secret all the same
		return p.broken(content)
	}
	return out
}

// known are the keys whose values stay in a body that cannot be read.
var known = []string{"apiVersion", "kind", "name", "namespace", "type"}

// broken is what was to be JSON: every text in it that no colon follows is hidden, so that the
// server refuses it in the same words.
func (p *pass) broken(content []byte) []byte {
	var out []byte
	key := ""
	for len(content) > 0 {
		i := bytes.IndexByte(content, '"')
		if i < 0 {
			return append(out, content...)
		}
		out, content = append(out, content[:i+1]...), content[i+1:]
		end := 0
		for end < len(content) && content[end] != '"' {
			if content[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(content))
		text := string(content[:end])
		switch {
		case end < len(content) && bytes.HasPrefix(bytes.TrimSpace(content[end+1:]), []byte(":")):
			key = text
		case !slices.Contains(known, key):
			text = p.value(text)
		}
		out, content = append(out, text...), content[end:]
		if len(content) > 0 { // the quote that ends it
			out, content = append(out, content[0]), content[1:]
		}
	}
	return out
}

// leaf is a text in a Secret at a path.
func (p *pass) leaf(path []string, kind string, exact bool, literal, s string) string {
	out := s
	switch {
	case len(path) >= 2 && path[0] == "data":
		if b, err := base64.StdEncoding.DecodeString(s); err == nil {
			out = base64.StdEncoding.EncodeToString([]byte(p.datum(corev1.SecretType(kind), path[1], string(b))))
		} else {
			out = p.value(s)
		}
	case len(path) >= 2 && path[0] == "stringData":
		out = p.datum(corev1.SecretType(kind), path[1], s)
	case len(path) == 3 && path[0] == "metadata" && path[1] == "annotations" && path[2] == corev1.LastAppliedConfigAnnotation:
		out = string(p.document([]byte(s), nil, kind, true))
	}
	if exact && out != s && !p.back {
		if is, err := json.Marshal(out); err == nil && len(is)-2 < len(literal) {
			out = p.longer(s, len(out)+len(literal)-(len(is)-2))
		}
	}
	return out
}

// tokenReview is the body of one, with its token hidden.
func (p *pass) tokenReview(content []byte, contentType string) []byte {
	if strings.Contains(contentType, "protobuf") {
		r := &authenticationv1.TokenReview{}
		return p.protobuf(content, r, func() marshaled {
			r.Spec.Token = p.token(r.Spec.Token)
			return r
		})
	}
	out, err := splice(content, func(path []string, _, s string) string {
		if len(path) == 2 && path[0] == "spec" && path[1] == "token" {
			return p.token(s)
		}
		return s
	})
	if err != nil { // YAML, or nothing
		return []byte(p.value(string(content)))
	}
	return out
}
