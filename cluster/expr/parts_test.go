package expr_test

import (
	"slices"
	"testing"

	"kviz/cluster/expr"
)

// TestParts takes expressions apart at their top, and nowhere else.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		src  string
		want []string
	}{
		{`store.quorum.ok`, []string{`store.quorum.ok`}},
		{`a == 1 && b != 2`, []string{`a == 1`, `b != 2`}},
		{` ( a == 1 && b != 2 ) `, []string{`a == 1`, `b != 2`}},
		{`(a || b) && (c && d) && e`, []string{`(a || b)`, `(c && d)`, `e`}},
		{`a && b || c`, []string{`a && b || c`}},
		{`a ? b && c : d`, []string{`a ? b && c : d`}},
		{`all.exists(x, x.a && x.b) && name == "a && \" b" && c['&&']`, []string{`all.exists(x, x.a && x.b)`, `name == "a && \" b"`, `c['&&']`}},
	} {
		if got := expr.Parts(c.src); !slices.Equal(got, c.want) {
			t.Errorf("%s has the parts %q; want %q", c.src, got, c.want)
		}
	}
}

// TestComparison takes comparisons apart.
func TestComparison(t *testing.T) {
	for _, c := range []struct {
		src  string
		want [3]string
	}{
		{`object("pods", "demo", "x == y").spec.n == 3`, [3]string{`object("pods", "demo", "x == y").spec.n`, "==", "3"}},
		{`event.payload.fault in ["stop", "crash"]`, [3]string{"event.payload.fault", "in", `["stop", "crash"]`}},
		{`a.b >= 2`, [3]string{"a.b", ">=", "2"}},
		{`a.index < b`, [3]string{"a.index", "<", "b"}},
		{`x.exists(p, p.n == 3)`, [3]string{}},
		{`(a == 1) == (b == 2)`, [3]string{"(a == 1)", "==", "(b == 2)"}},
		{`a == 1 || b == 2`, [3]string{}},
		{`a == b == c`, [3]string{}},
	} {
		left, op, right, ok := expr.Comparison(c.src)
		if got := [3]string{left, op, right}; ok != (c.want[1] != "") || ok && got != c.want {
			t.Errorf("%s compares %q (%v); want %q", c.src, got, ok, c.want)
		}
	}
}
