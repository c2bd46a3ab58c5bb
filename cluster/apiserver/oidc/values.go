package oidc

import (
	"encoding/json"
	"errors"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/lazy"

	"kviz/cluster/apiserver/authn"
)

// What expressions see of a token and of a user: plugin/pkg/authenticator/token/oidc
// newClaimsValue, newUserInfoValue and what is below them.

// claims is what a token says.
type claims map[string]json.RawMessage

func (c claims) read(name string, v any) error {
	raw, ok := c[name]
	if !ok {
		return errors.New("claim not present")
	}
	return json.Unmarshal(raw, v)
}

func newClaimsValue(c claims) *lazy.MapValue {
	m := lazy.NewMapValue(types.NewObjectType("kubernetes.claims"))
	for _, name := range sorted(c) {
		m.Append(name, func(*lazy.MapValue) ref.Val {
			var value any
			if err := json.Unmarshal(c[name], &value); err != nil {
				return types.NewErr("claim %q failed to unmarshal: %w", name, err)
			}
			return native(value)
		})
	}
	return m
}

func newUserValue(u authn.User) *lazy.MapValue {
	m := lazy.NewMapValue(types.NewObjectType("kubernetes.UserInfo"))
	for _, f := range []struct {
		name  string
		value any
	}{{"username", u.Name}, {"uid", u.UID}, {"groups", u.Groups}, {"extra", u.Extra}} {
		m.Append(f.name, func(*lazy.MapValue) ref.Val { return native(f.value) })
	}
	return m
}

// stringList takes a string or a list of strings; empty ones count for nothing
// (convertCELValueToStringList).
func stringList(val ref.Val) ([]string, error) {
	bad := errors.New("expression must return a string or a list of strings")
	var all []string
	switch val.Type().TypeName() {
	case celgo.StringType.TypeName():
		all = []string{val.Value().(string)}
	case celgo.ListType(nil).TypeName():
		switch list := val.Value().(type) {
		case []any:
			for _, v := range list {
				s, ok := v.(string)
				if !ok {
					return nil, bad
				}
				all = append(all, s)
			}
		case []ref.Val:
			for _, v := range list {
				s, ok := v.Value().(string)
				if !ok {
					return nil, bad
				}
				all = append(all, s)
			}
		default:
			return nil, bad
		}
	case celgo.NullType.TypeName():
	default:
		return nil, bad
	}
	var out []string
	for _, s := range all {
		if s != "" {
			out = append(out, s)
		}
	}
	return out, nil
}

// native makes a CEL value, whose fields are also found under the names that
// expressions have to write for them (a__dot__b).
func native(value any) ref.Val { return unescape(types.DefaultTypeAdapter.NativeToValue(value)) }

type unescapeMapper struct{ traits.Mapper }

func (m *unescapeMapper) Find(key ref.Val) (ref.Val, bool) {
	if s, ok := key.(types.String); ok {
		if name, ok := cel.Unescape(string(s)); ok {
			key = types.String(name)
		}
	}
	value, ok := m.Mapper.Find(key)
	return unescape(value), ok
}

type unescapeLister struct{ traits.Lister }

func (l *unescapeLister) Get(index ref.Val) ref.Val { return unescape(l.Lister.Get(index)) }

func unescape(value ref.Val) ref.Val {
	switch v := value.(type) {
	case traits.Mapper:
		return &unescapeMapper{v}
	case traits.Lister:
		return &unescapeLister{v}
	}
	return value
}
