package etcd

import "testing"

// running are a store's members; those with true run.
type running struct {
	Store
	names []string
	up    map[string]bool
}

func (r running) Members() []string { return r.names }
func (r running) Up(m string) bool  { return r.up[m] }

func TestWhoAnswers(t *testing.T) {
	for _, c := range []struct {
		up    map[string]bool
		asked []string
		want  string
	}{
		{map[string]bool{"b": true, "c": true}, []string{"a"}, "kviz: it asked a, which is down; ask who runs: --endpoints=b,c\n"},
		{map[string]bool{"c": true}, []string{"a", "b"}, "kviz: it asked a, b, which are down; ask who runs: --endpoints=c\n"},
		{map[string]bool{}, []string{"a"}, "kviz: it asked a, which is down, as every member is\n"},
		{map[string]bool{"b": true}, []string{"a", "b"}, ""},
		{map[string]bool{"a": true, "b": true, "c": true}, []string{"a"}, ""},
	} {
		if got := whoAnswers(c.asked, running{names: []string{"a", "b", "c"}, up: c.up}); got != c.want {
			t.Errorf("of %v, asked %v: %q, want %q", c.up, c.asked, got, c.want)
		}
	}
}
