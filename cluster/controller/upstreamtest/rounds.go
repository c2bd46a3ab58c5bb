package upstreamtest

import (
	"flag"
	"os"
	"testing"

	"pgregory.net/rapid"

	"kviz/raftstore/steady"
)

// Check checks a property of random cases, from the same seed each time (see [steady.Check]): few
// of them in a test run, and as many as the environment variable KVIZ_ORACLE says to be sure.
func Check(t *testing.T, few string, property func(*rapid.T)) {
	t.Helper()
	n := os.Getenv("KVIZ_ORACLE")
	if n == "" {
		n = few
	}
	checks := flag.Lookup("rapid.checks").Value
	was := checks.String()
	if err := checks.Set(n); err != nil {
		t.Fatalf("KVIZ_ORACLE: %v", err)
	}
	defer func() { _ = checks.Set(was) }()
	steady.Check(t, property)
}
