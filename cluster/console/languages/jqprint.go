package languages

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// lines reads a text line by line.
type lines struct {
	r io.Reader
	b *bufio.Reader
}

func (l *lines) next() (line string, more bool, err error) {
	if l.b == nil {
		l.b = bufio.NewReader(l.r)
	}
	line, err = l.b.ReadString('\n')
	if errors.Is(err, io.EOF) {
		return line, line != "", nil
	}
	return strings.TrimSuffix(line, "\n"), err == nil, err
}

// jqPrinter prints values as jq does, the keys of an object sorted.
type jqPrinter struct {
	jqOptions
	out io.Writer
}

// print prints a result.
func (p jqPrinter) print(v any) {
	text, is := v.(string)
	switch {
	case !is || !p.Raw:
		text = p.text(v)
	case p.ASCII:
		text = ascii(text)
	}
	if !p.Join {
		text += "\n"
	}
	_, _ = io.WriteString(p.out, text)
}

// text is a value as JSON.
func (p jqPrinter) text(v any) string {
	var b strings.Builder
	p.write(&b, v, 0)
	if p.ASCII {
		return ascii(b.String())
	}
	return b.String()
}

// mostText is how large one result may be when it is printed: one value that is in another
// thirty times over takes little memory and has no end as text.
const mostText = mostWritten

func (p jqPrinter) write(b *strings.Builder, v any, depth int) {
	if b.Len() > mostText {
		stop("jq", fmt.Sprintf("a result has more than %d MiB", mostText>>20))
	}
	line := func(depth int) {
		if p.Indent < 0 {
			return
		}
		b.WriteByte('\n')
		with := " "
		if p.Tab {
			with = "\t"
		}
		for range depth * p.Indent {
			b.WriteString(with)
		}
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int:
		b.WriteString(strconv.Itoa(v))
	case float64:
		b.WriteString(number(v))
	case *big.Int:
		b.WriteString(v.String())
	case json.Number:
		b.WriteString(v.String())
	case string:
		quoted(b, v)
	case []any:
		b.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			line(depth + 1)
			p.write(b, x, depth+1)
		}
		if len(v) > 0 {
			line(depth)
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b.WriteByte(',')
			}
			line(depth + 1)
			quoted(b, key)
			b.WriteByte(':')
			if p.Indent >= 0 {
				b.WriteByte(' ')
			}
			p.write(b, v[key], depth+1)
		}
		if len(v) > 0 {
			line(depth)
		}
		b.WriteByte('}')
	default:
		fmt.Fprintf(b, "%v", v)
	}
}

// number is a number as jq prints it.
func number(f float64) string {
	if math.IsNaN(f) {
		return "null"
	}
	f = min(max(f, -math.MaxFloat64), math.MaxFloat64)
	if x := math.Abs(f); x != 0 && x < 1e-6 || x >= 1e17 {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// quoted writes a text as JSON, which escapes what JSON must and no more.
func quoted(b *strings.Builder, s string) {
	b.WriteByte('"')
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		at := strings.IndexByte("\b\f\n\r\t\"\\", s[i])
		switch {
		case at >= 0:
			b.WriteString(`\` + `bfnrt"\`[at:at+1])
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(b, `\u%04x`, r)
		case r == utf8.RuneError && size == 1:
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	b.WriteByte('"')
}

// ascii escapes what is not ASCII.
func ascii(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
