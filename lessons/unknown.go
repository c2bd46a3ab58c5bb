package lessons

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"kviz/cluster/nearest"
)

// unknownField is a field that a part of a lesson does not have.
type unknownField struct {
	name, near string
	line       int // where it stands in the part's text, from 0
}

func (u *unknownField) Error() string {
	if u.near == "" {
		return fmt.Sprintf("unknown field %q", u.name)
	}
	return fmt.Sprintf("unknown field %q; did you mean %q?", u.name, u.near)
}

var unknownForm = regexp.MustCompile(`unknown field "([^"]+)"`)

// naming says of an error about a field that there is not which was most likely meant, and where
// it stands in the text; other errors stay as they are.
func naming(err error, text string, into any) error {
	if err == nil {
		return nil
	}
	m := unknownForm.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	u := &unknownField{name: m[1], near: nearest.To(m[1], fieldsOf(reflect.TypeOf(into)))}
	written := regexp.MustCompile(`(?:^|[\s{,"'-])` + regexp.QuoteMeta(u.name) + `["']?\s*:`)
	for i, line := range strings.Split(text, "\n") {
		if written.MatchString(line) {
			u.line = i
			break
		}
	}
	return u
}

// fieldsOf are the names of the fields of a type, and of those that it is made of.
func fieldsOf(t reflect.Type) (names []string) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return fieldsOf(t.Elem())
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			if name := f.Tag.Get("json"); name != "" {
				names = append(names, name)
				names = append(names, fieldsOf(f.Type)...)
			}
		}
	}
	return names
}
