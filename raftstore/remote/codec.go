package remote

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The codec turns a value into bytes and back, field after field in the order
// of declaration, without names: both ends must have the same types. They make
// sure of it when they meet (see [schema]).
//
// Numbers are varints, as in protobuf; strings, byte slices and slices begin with
// their length plus one, 0 being nil; a pointer begins with 0 for nil or 1; a map is
// a slice of pairs. Unexported fields, channels, functions and interfaces are
// not carried.

var errShort = errors.New("the message ends before its contents do")

// appendValue appends v, a pointer to a value, to b.
func appendValue(b []byte, v any) []byte {
	r := reflect.ValueOf(v).Elem()
	return codecOf(r.Type()).encode(b, r)
}

// readValue reads v, a pointer to a value, from all of b.
func readValue(b []byte, v any) error {
	r := reflect.ValueOf(v).Elem()
	rest, err := codecOf(r.Type()).decode(b, r)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes follow the message", len(rest))
	}
	return err
}

// codec is how the values of one type are carried.
type codec struct {
	// least is how few bytes a value can take: so many elements of a list cannot be
	// announced as do not fit into what follows, and what is announced can be allocated.
	least  int
	encode func(b []byte, v reflect.Value) []byte
	decode func(b []byte, v reflect.Value) ([]byte, error)
}

var codecs sync.Map // reflect.Type: *codec

func codecOf(t reflect.Type) *codec {
	if c, ok := codecs.Load(t); ok {
		return c.(*codec)
	}
	c := newCodec(t)
	codecs.Store(t, c)
	return c
}

var timeType = reflect.TypeFor[time.Time]()

func newCodec(t reflect.Type) *codec {
	switch t.Kind() {
	case reflect.Bool:
		return &codec{
			1,
			func(b []byte, v reflect.Value) []byte {
				if v.Bool() {
					return append(b, 1)
				}
				return append(b, 0)
			},
			func(b []byte, v reflect.Value) ([]byte, error) {
				n, b, err := uvarint(b)
				v.SetBool(n != 0)
				return b, err
			},
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &codec{1, encodeInt, decodeInt}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &codec{
			1,
			func(b []byte, v reflect.Value) []byte { return binary.AppendUvarint(b, v.Uint()) },
			decodeUint,
		}
	case reflect.Float64:
		return &codec{
			8,
			func(b []byte, v reflect.Value) []byte {
				return binary.BigEndian.AppendUint64(b, math.Float64bits(v.Float()))
			},
			decodeFloat,
		}
	case reflect.String:
		return &codec{
			1,
			func(b []byte, v reflect.Value) []byte { return append(appendLength(b, v.Len()), v.String()...) },
			func(b []byte, v reflect.Value) ([]byte, error) {
				s, b, err := counted(b)
				v.SetString(string(s))
				return b, err
			},
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return &codec{1, encodeBytes, decodeBytes}
		}
		return sliceCodec(t)
	case reflect.Map:
		return mapCodec(t)
	case reflect.Pointer:
		return pointerCodec(t)
	case reflect.Struct:
		if t == timeType {
			return &codec{1, encodeTime, decodeTime}
		}
		return structCodec(t)
	}
	panic(fmt.Sprintf("remote: values of type %v cannot be carried", t))
}

func encodeInt(b []byte, v reflect.Value) []byte { return binary.AppendVarint(b, v.Int()) }

func decodeInt(b []byte, v reflect.Value) ([]byte, error) {
	u, b, err := uvarint(b)
	if err != nil {
		return nil, err
	}
	n := int64(u>>1) ^ -int64(u&1)
	if v.OverflowInt(n) {
		return nil, fmt.Errorf("%d is too large for %v", n, v.Type())
	}
	v.SetInt(n)
	return b, nil
}

func decodeUint(b []byte, v reflect.Value) ([]byte, error) {
	n, b, err := uvarint(b)
	if err != nil {
		return nil, err
	}
	if v.OverflowUint(n) {
		return nil, fmt.Errorf("%d is too large for %v", n, v.Type())
	}
	v.SetUint(n)
	return b, nil
}

func decodeFloat(b []byte, v reflect.Value) ([]byte, error) {
	if len(b) < 8 {
		return nil, errShort
	}
	v.SetFloat(math.Float64frombits(binary.BigEndian.Uint64(b)))
	return b[8:], nil
}

func encodeBytes(b []byte, v reflect.Value) []byte {
	if v.IsNil() {
		return append(b, 0)
	}
	return append(appendLength(b, v.Len()), v.Bytes()...)
}

// decodeBytes copies: what is read from a connection goes into a buffer that
// is used again.
func decodeBytes(b []byte, v reflect.Value) ([]byte, error) {
	s, b, err := counted(b)
	if s != nil {
		v.SetBytes(append(make([]byte, 0, len(s)), s...))
	}
	return b, err
}

func encodeTime(b []byte, v reflect.Value) []byte {
	t := v.Interface().(time.Time)
	if t.IsZero() {
		return append(b, 0)
	}
	return binary.AppendUvarint(binary.AppendVarint(append(b, 1), t.Unix()), uint64(t.Nanosecond()))
}

func decodeTime(b []byte, v reflect.Value) ([]byte, error) {
	set, b, err := uvarint(b)
	if err != nil || set == 0 {
		return b, err
	}
	sec, b, err := uvarint(b)
	if err != nil {
		return nil, err
	}
	nsec, b, err := uvarint(b)
	if err != nil {
		return nil, err
	}
	if nsec >= uint64(time.Second) {
		return nil, fmt.Errorf("a second of %d ns", nsec)
	}
	v.Set(reflect.ValueOf(time.Unix(int64(sec>>1)^-int64(sec&1), int64(nsec))))
	return b, nil
}

func sliceCodec(t reflect.Type) *codec {
	elem := codecOf(t.Elem())
	return &codec{
		1,
		func(b []byte, v reflect.Value) []byte {
			if v.IsNil() {
				return append(b, 0)
			}
			b = appendLength(b, v.Len())
			for i := range v.Len() {
				b = elem.encode(b, v.Index(i))
			}
			return b
		},
		func(b []byte, v reflect.Value) ([]byte, error) {
			n, b, err := length(b, elem.least)
			if err != nil || n < 0 {
				return b, err
			}
			list := reflect.MakeSlice(t, n, n)
			for i := range n {
				if b, err = elem.decode(b, list.Index(i)); err != nil {
					return nil, err
				}
			}
			v.Set(list)
			return b, nil
		},
	}
}

func mapCodec(t reflect.Type) *codec {
	key, elem := codecOf(t.Key()), codecOf(t.Elem())
	return &codec{
		1,
		func(b []byte, v reflect.Value) []byte {
			if v.IsNil() {
				return append(b, 0)
			}
			b = appendLength(b, v.Len())
			for it := v.MapRange(); it.Next(); {
				b = elem.encode(key.encode(b, it.Key()), it.Value())
			}
			return b
		},
		func(b []byte, v reflect.Value) ([]byte, error) {
			n, b, err := length(b, key.least+elem.least)
			if err != nil || n < 0 {
				return b, err
			}
			m := reflect.MakeMap(t)
			for range n {
				k, e := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
				if b, err = key.decode(b, k); err != nil {
					return nil, err
				}
				if b, err = elem.decode(b, e); err != nil {
					return nil, err
				}
				m.SetMapIndex(k, e)
			}
			v.Set(m)
			return b, nil
		},
	}
}

func pointerCodec(t reflect.Type) *codec {
	elem := codecOf(t.Elem())
	return &codec{
		1,
		func(b []byte, v reflect.Value) []byte {
			if v.IsNil() {
				return append(b, 0)
			}
			return elem.encode(append(b, 1), v.Elem())
		},
		func(b []byte, v reflect.Value) ([]byte, error) {
			set, b, err := uvarint(b)
			if err != nil || set == 0 {
				return b, err
			}
			e := reflect.New(t.Elem())
			if b, err = elem.decode(b, e.Elem()); err == nil {
				v.Set(e)
			}
			return b, err
		},
	}
}

func structCodec(t reflect.Type) *codec {
	type field struct {
		index int
		*codec
	}
	var fields []field
	least := 0
	for i := range t.NumField() {
		if f := t.Field(i); carried(f) {
			c := codecOf(f.Type)
			fields = append(fields, field{i, c})
			least += c.least
		}
	}
	return &codec{
		least,
		func(b []byte, v reflect.Value) []byte {
			for _, f := range fields {
				b = f.encode(b, v.Field(f.index))
			}
			return b
		},
		func(b []byte, v reflect.Value) ([]byte, error) {
			var err error
			for _, f := range fields {
				if b, err = f.decode(b, v.Field(f.index)); err != nil {
					return nil, fmt.Errorf("%s: %w", t.Field(f.index).Name, err)
				}
			}
			return b, nil
		},
	}
}

func carried(f reflect.StructField) bool {
	switch f.Type.Kind() {
	case reflect.Chan, reflect.Func, reflect.Interface, reflect.UnsafePointer:
		return false
	}
	return f.IsExported()
}

func appendLength(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)+1) }

// length reads the length of a list whose elements take so many bytes at least, -1
// for nil.
func length(b []byte, least int) (int, []byte, error) {
	n, b, err := uvarint(b)
	if err != nil || n == 0 {
		return -1, b, err
	}
	// Elements without contents would be free: they are counted as a byte each.
	if n-1 > uint64(len(b)/max(least, 1)) {
		return 0, nil, errShort
	}
	return int(n - 1), b, nil
}

// counted reads a string or byte slice; nil stays nil.
func counted(b []byte) (s, rest []byte, err error) {
	n, b, err := length(b, 1)
	if err != nil || n < 0 {
		return nil, b, err
	}
	return b[:n:n], b[n:], nil
}

func uvarint(b []byte) (uint64, []byte, error) {
	n, size := binary.Uvarint(b)
	switch {
	case size == 0:
		return 0, nil, errShort
	case size < 0:
		return 0, nil, errors.New("a number of more than 64 bits")
	}
	return n, b[size:], nil
}

// schema is a fingerprint of what types look like on the wire. Two programs with
// the same fingerprint understand one another.
func schema(types ...reflect.Type) string {
	h := fnv.New64a()
	seen := map[reflect.Type]bool{}
	for _, t := range types {
		describe(h, t, seen)
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

func describe(w io.Writer, t reflect.Type, seen map[reflect.Type]bool) {
	fmt.Fprintf(w, "%v ", t.Kind())
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer:
		describe(w, t.Elem(), seen)
	case reflect.Map:
		describe(w, t.Key(), seen)
		describe(w, t.Elem(), seen)
	case reflect.Struct:
		if t == timeType || seen[t] {
			return
		}
		seen[t] = true
		for i := range t.NumField() {
			if f := t.Field(i); carried(f) {
				fmt.Fprintf(w, "%s:", strings.ToLower(f.Name))
				describe(w, f.Type, seen)
			}
		}
	}
}
