package store

import (
	"encoding/json"
	"fmt"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// value is the key whose value is looked at, and how.
type value struct {
	key string
	raw bool
}

// belowOnly says of what has keys below it that it is none itself.
func belowOnly(b view.Branch) string {
	return fmt.Sprintf("%s is no key: %s below it. Enter opens it; put the cursor on one of them.", b.Name, words.Count(b.Keys, "key"))
}

// look answers the key that shows values: first decoded, then the bytes, then
// not at all.
func (p *Store) look(on pane.Subject, _ *pane.Frame) action.Action {
	key, ok := strings.CutPrefix(on.ID, "key/")
	if b, branch := on.Value.(view.Branch); ok && branch && b.Key == nil {
		return action.Notice{Text: belowOnly(b)}
	}
	switch {
	case ok && key != p.value.key:
		p.value = value{key: key}
	case p.value.key == "":
		return action.Notice{Text: "Put the cursor on a key (v shows the keys) to see its value."}
	case !p.value.raw:
		p.value.raw = true
	default:
		p.value = value{}
	}
	return action.Redraw{}
}

// drawValue shows one key: its value decoded or as the bytes that the store
// holds, and its last revisions.
func (p *Store) drawValue(s *pane.Sheet, f *pane.Frame, y int) int {
	if p.value.key == "" {
		return y
	}
	k := f.S.Store.Key(p.value.key)
	how := "decoded; x shows the bytes"
	if k != nil && trace.Encrypted(k.Raw) {
		how = "as the API server decrypts it; x shows the bytes"
	}
	if p.value.raw {
		how = "the bytes as stored; x closes"
	}
	y = s.Heading(y, p.value.key, how)
	if k == nil {
		s.Row(y).Fit(0, 0, s.W(), "There is no such key now.", theme.Warn)
		return y + 1
	}
	object, stored := stored(f, k)
	if p.value.raw {
		y = drawBytes(s, y, stored)
	} else {
		y = drawDecoded(s, y, k, object)
	}
	return drawWrites(s, k, y)
}

// stored is a key's object, if it is one of the API's, and its bytes.
func stored(f *pane.Frame, k *view.Key) (*trace.Object, []byte) {
	if k.Ref.Kind == "" {
		return nil, k.Raw
	}
	o := f.S.ObjectOf(k.Ref)
	if o == nil || o.Value == nil {
		return nil, k.Raw
	}
	object := trace.Obj(o.Value)
	if len(k.Raw) > 0 { // encrypted: only the API server can make the object of it
		return object, k.Raw
	}
	b, err := trace.Stored(object)
	if err != nil {
		return object, nil
	}
	return object, b
}

const valueRows = 14

func drawDecoded(s *pane.Sheet, y int, k *view.Key, o *trace.Object) int {
	text := string(k.Raw)
	if o != nil {
		b, err := json.MarshalIndent(o.Value, "", "  ")
		if err != nil {
			b = []byte(err.Error())
		}
		text = string(b)
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if i == valueRows {
			s.Row(y).Fit(0, 0, s.W(), fmt.Sprintf("… %d more lines; enter on the key shows the whole object", len(lines)-i), theme.Muted)
			return y + 1
		}
		s.Row(y).Fit(0, 0, s.W(), l, theme.Text)
		y++
	}
	return y
}

// drawBytes is a dump in hexadecimal. Kubernetes' protobuf begins with "k8s" and
// a zero byte; what begins with "{" is JSON.
func drawBytes(s *pane.Sheet, y int, b []byte) int {
	kind := "neither Kubernetes' protobuf nor JSON"
	head := len(trace.Magic)
	if !strings.HasPrefix(string(b), trace.Magic) {
		head = 0
	}
	switch {
	case trace.Encrypted(b):
		head = envelope(b)
		kind = fmt.Sprintf("encrypted at rest: %q says by which provider and key, then ciphertext", b[:head])
	case strings.HasPrefix(string(b), trace.Magic):
		kind = `the magic "k8s\0", then protobuf: runtime.Unknown with apiVersion, kind and the object`
	case len(b) > 0 && b[0] == '{':
		kind = "JSON, as custom resources are stored"
	}
	s.Row(y).Fit(0, 0, s.W(), words.Bytes(len(b))+": "+kind, theme.Muted)
	y++
	per := 16
	if s.W() < 76 {
		per = 8
	}
	for at := 0; at < len(b); at += per {
		if at/per == valueRows {
			s.Row(y).Text(0, 0, fmt.Sprintf("… %d more bytes", len(b)-at), theme.Muted)
			return y + 1
		}
		row := b[at:min(at+per, len(b))]
		a := s.Row(y)
		x := a.Text(0, 0, fmt.Sprintf("%06x  ", at), theme.Muted)
		for i, c := range row {
			st := theme.Text
			if at+i < head {
				st = theme.Accent
			}
			x = a.Text(x, 0, fmt.Sprintf("%02x ", c), st)
		}
		x = 9 + 3*per
		for _, c := range row {
			r := rune(c)
			if c < 0x20 || c > 0x7e {
				r = '·'
			}
			a.Put(x, 0, r, theme.Name)
			x++
		}
		y++
	}
	return y
}

// envelope is how long the readable beginning of an encrypted value is:
// "k8s:enc:", provider, version and name of the key, each with a colon.
func envelope(b []byte) int {
	colons := 0
	for i, c := range b {
		if c == ':' {
			colons++
		}
		if colons == 5 {
			return i + 1
		}
	}
	return len(b)
}

func drawWrites(s *pane.Sheet, k *view.Key, y int) int {
	list := k.History()
	if len(list) == 0 {
		return y
	}
	s.Row(y).Fit(0, 0, s.W(), fmt.Sprintf("created at revision %d; its last writes:", k.CreateRevision), theme.Muted)
	y++
	for i := len(list) - 1; i >= 0; i-- {
		w := list[i]
		s.Line(y, pane.Subject{ID: fmt.Sprintf("write/%d", w.Revision), Event: w.Event, Kind: trace.StoreCommit, Words: fmt.Sprintf("Revision %d wrote version %d of %s, %s; enter goes there.", w.Revision, w.Version, k.Key, words.Bytes(w.Size))},
			grid.Span{Text: fmt.Sprintf("  revision %-7d version %-4d %6s  at %s", w.Revision, w.Version, words.Bytes(w.Size), words.Clock(w.At)), Style: theme.Text})
		y++
	}
	return y
}
