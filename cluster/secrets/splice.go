package secrets

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// deepest is how deep a document may be that is looked into; the API server refuses deeper
// ones, and what is not looked into is hidden as a whole.
const deepest = 1000

var errTooDeep = errors.New("the document is too deep")

// splice exchanges texts in a JSON document and leaves every other byte as it is. with is given
// the path, the literal without its quotes, and the text; indexes of lists are decimal.
func splice(doc []byte, with func(path []string, literal, s string) string) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var out []byte
	done := 0 // of doc
	var walk func(path []string) error
	walk = func(path []string) error {
		if len(path) > deepest {
			return errTooDeep
		}
		before := int(d.InputOffset())
		tok, err := d.Token()
		if err != nil {
			return err
		}
		switch tok := tok.(type) {
		case string:
			end := int(d.InputOffset())
			begin := before + bytes.IndexByte(doc[before:end], '"')
			if s := with(path, string(doc[begin+1:end-1]), tok); s != tok {
				literal, err := json.Marshal(s)
				if err != nil {
					return err
				}
				out = append(append(out, doc[done:begin]...), literal...)
				done = end
			}
		case json.Delim:
			for i := 0; d.More(); i++ {
				key := strconv.Itoa(i)
				if tok == '{' {
					name, err := d.Token()
					if err != nil {
						return err
					}
					key = name.(string)
				}
				if err := walk(append(path[:len(path):len(path)], key)); err != nil {
					return err
				}
			}
			_, err := d.Token()
			return err
		}
		return nil
	}
	if err := walk(nil); err != nil {
		return nil, err
	}
	return append(out, doc[done:]...), nil
}

// index reads back the index of a list.
func index(s string) int {
	n, _ := strconv.Atoi(s) // splice has written it
	return n
}

// plain reports whether a literal is what it stands for.
func plain(literal string) bool { return !strings.Contains(literal, `\`) }
