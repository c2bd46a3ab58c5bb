package upstreamtest

import (
	"flag"
	"os"
	"testing"

	"pgregory.net/rapid"
)

// Check checks a property of random cases: few of them in a test run, and as many as the
// environment variable KVIZ_ORACLE says for whoever wants to be sure. rapid prints the
// seed of one that fails.
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
	rapid.Check(t, property)
}
