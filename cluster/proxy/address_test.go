package proxy_test

import (
	"strings"
	"testing"

	"kviz/cluster/trace"
)

// An address that is none, which no API server lets in, has no rules; one with leading zeros, which old ones
// did, is read as upstream reads it.
func TestAddressesThatAreNone(t *testing.T) {
	b := run(t, 1, false, func(b *bench) {
		b.start()
		b.service("nowhere", "x", "", "10.244.0.4")
		b.service("web", "10.96.0.10", "", "10.244.0.5", "((((", "10.244.000.6")
		b.settle()
		rules := b.px.Save()
		if strings.Contains(rules, "nowhere") || strings.Contains(rules, "((((") || !strings.Contains(rules, "10.244.0.5:8080") || !strings.Contains(rules, "10.244.0.6:8080") {
			panic(rules)
		}
	})
	for _, e := range b.Events {
		if p, ok := e.Payload.(*trace.Panicked); ok {
			t.Errorf("%s: %s", e.Object, p.Panic)
		}
	}
}
