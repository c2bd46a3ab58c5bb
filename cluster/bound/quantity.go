package bound

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// maxExponent is the largest exponent of ten that a quantity may have, either way. The
	// largest of a suffix is 18; comparing 1e999 with 1 takes a microsecond.
	maxExponent = 999
	// maxDigits is how long a quantity may be.
	maxDigits = 999
)

// Quantity says what is wrong with a quantity whose arithmetic would take long; nil if there is
// nothing wrong, or what the parser itself refuses (resource.ParseQuantity).
func Quantity(text string) error {
	text = strings.TrimSpace(text)
	if len(text) > maxDigits {
		return resource.ErrNumeric
	}
	at := strings.IndexAny(text, "eE")
	if at < 0 {
		return nil
	}
	if n, err := strconv.ParseInt(text[at+1:], 10, 64); err == nil && (n > maxExponent || n < -maxExponent) {
		return resource.ErrSuffix
	}
	return nil
}

// suspect reports whether a text may have such a quantity in it: one with an exponent of four
// digits, or with many digits. It has no false negatives but for what is escaped. ends says that
// a letter, a digit or a sign behind a number makes it no number.
func suspect(data []byte, ends bool) bool {
	digits, exponent := 0, false
	for i, b := range data {
		switch {
		case '0' <= b && b <= '9':
			if digits++; digits > maxDigits/2 {
				return true
			}
			if exponent && digits > 3 && (i+1 == len(data) || !continues(data[i+1], ends)) {
				return true
			}
			continue
		case (b == '+' || b == '-') && exponent && digits == 0:
			continue
		}
		exponent = (b == 'e' || b == 'E') && i > 0 && (data[i-1] == '.' || '0' <= data[i-1] && data[i-1] <= '9')
		digits = 0
	}
	return false
}

// continues reports whether a byte goes on with an exponent, or with a word that is no number:
// a UID, say.
func continues(b byte, ends bool) bool {
	return '0' <= b && b <= '9' || ends && (b == '-' || 'a' <= b|0x20 && b|0x20 <= 'z')
}

// Suspect reports whether a JSON or YAML text may have a quantity in it that [Quantity] refuses.
func Suspect(doc []byte) bool {
	return suspect(doc, true) || bytes.Contains(doc, []byte(`\u`)) || !utf8.Valid(doc)
}

// QuantitiesOf says what is wrong with the quantities of an object of a Go type, given as JSON. Other
// texts may be as they like, so that a ConfigMap can hold what a Pod cannot.
func QuantitiesOf(t reflect.Type, doc []byte) error {
	if !holds(t) || !Suspect(doc) {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	err := readJSON(d, t)
	if _, ok := err.(*quantityError); ok {
		return err
	}
	return nil // what is no JSON its decoder refuses
}

// quantityError is a refusal of this package, among the errors of a reader.
type quantityError struct{ error }

func (e *quantityError) Unwrap() error { return e.error }

func judge(text string) error {
	if err := Quantity(text); err != nil {
		return &quantityError{err}
	}
	return nil
}

// readJSON reads one value of type t, or one that holds no quantity if t is nil. It takes every
// value of a key that occurs twice, as the decoders do.
func readJSON(d *json.Decoder, t reflect.Type) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := token.(type) {
	case json.Delim:
		for d.More() {
			part := t
			if v == '{' {
				key, err := d.Token()
				if err != nil {
					return err
				}
				name, ok := key.(string)
				if !ok {
					return io.ErrUnexpectedEOF
				}
				if err := judgeKey(t, name); err != nil {
					return err
				}
				part = member(t, name)
			} else if t != nil {
				part = element(t)
			}
			if err := readJSON(d, part); err != nil {
				return err
			}
		}
		_, err := d.Token()
		return err
	case string:
		return judgeText(t, v)
	case json.Number:
		return judgeText(t, v.String())
	}
	return nil
}

// judgeText judges a value that is no object and no list.
func judgeText(t reflect.Type, text string) error {
	switch {
	case t == quantityType:
		return judge(text)
	case t != nil && t.Kind() == reflect.String:
		return judgePage(text)
	}
	return nil
}

// judgeKey judges the name of a resource. That of huge pages has their size in it.
func judgeKey(t reflect.Type, name string) error {
	if t != nil && t.Kind() == reflect.Map && t.Elem() == quantityType {
		return judgePage(name)
	}
	return nil
}

// judgePage judges the size of huge pages, which is read where they are a resource and where they
// are a medium (core/v1/helper HugePageSizeFromResourceName, HugePageSizeFromMedium).
func judgePage(text string) error {
	for _, prefix := range []string{"hugepages-", "HugePages-"} {
		if size, ok := strings.CutPrefix(text, prefix); ok {
			return judge(size)
		}
	}
	return nil
}
