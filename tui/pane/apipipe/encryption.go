package apipipe

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// drawEncryption tells which resources are encrypted at rest, and how.
func drawEncryption(s *pane.Sheet, f *pane.Frame, y int) int {
	for _, o := range f.S.APIServers() {
		y = drawServerEncryption(s, f, y, o.Server, &o.Encryption)
	}
	return y
}

func drawServerEncryption(s *pane.Sheet, f *pane.Frame, y int, server string, n *view.Encryption) int {
	if n.Loaded == nil && n.Written == nil {
		return y
	}
	y = s.Heading(y, "encryption at rest"+atServer(f, server), "the first provider encrypts, any decrypts")
	on := pane.Subject{ID: "encryption" + atServer(f, server), Event: n.Event, Kind: trace.EncryptionConfig, Words: "How the API server encrypts what it writes to the store; the keys are in its file, not in the store."}
	if n.Loaded != nil {
		for _, r := range n.Loaded.Rules {
			s.Line(y, on, grid.Span{Text: strings.Join(r.Resources, ", ") + " ", Style: theme.Text}, grid.Span{Text: strings.Join(r.Providers, " → "), Style: theme.Name})
			y++
		}
	}
	if n.Refused != "" {
		y = s.Say(y, "✗ not taken up: "+n.Refused, theme.Bad)
	} else if words := unread(n); words != "" {
		y = s.Say(y, words, theme.Warn)
	}
	if c := n.Call; c != nil {
		s.Row(y).Fit(0, 0, s.W(), fmt.Sprintf("KMS plugin: %s, last %s with %s", words.Count(int(n.Calls), "call"), c.Method, c.KeyID), theme.Muted)
		y++
	}
	return y
}

// unread says what the file has that the API server has not; "" if nothing.
func unread(n *view.Encryption) string {
	switch {
	case n.Written == nil && n.Loaded == nil, n.Written != nil && n.Loaded != nil && n.Loaded.Hash == n.Written.Hash:
		return ""
	case n.Written == nil:
		return "The file was removed; what is above is in force until the API server starts again."
	case n.Loaded != nil && n.Loaded.Reload:
		return "The file was changed; the API server has not read it yet: it looks every minute."
	}
	return "The file was changed; the API server has not read it yet: it does when it starts."
}
