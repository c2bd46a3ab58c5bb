package proof

import (
	"fmt"
	"slices"
	"strings"
)

// A difference says which answers of kviz differ, and why
// (testdata/differences.yaml). Both scripts and steps may hold stars.
type difference struct {
	Why     string   `json:"why"`
	Scripts []string `json:"scripts"` // all, if none is named
	Steps   []string `json:"steps"`
	// Sometimes is true of what depends on who is faster.
	Sometimes bool `json:"sometimes"`
}

// differences are those that are known. A step's name that does not differ
// anywhere any more fails the whole run.
func differences() ([]difference, error) {
	var out []difference
	return out, read("testdata/differences.yaml", &out)
}

// ledger counts which of the known differences are still there.
type ledger struct {
	known []difference
	used  map[string]int // by their reasons and the steps' names
}

// allows reports whether a step is known to differ, and counts it.
func (l *ledger) allows(script, step string) bool {
	for _, d := range l.known {
		if len(d.Scripts) > 0 && !slices.ContainsFunc(d.Scripts, func(p string) bool { return like(p, script) }) {
			continue
		}
		for _, p := range d.Steps {
			if like(p, step) {
				l.used[d.Why+"\x00"+p]++
				return true
			}
		}
	}
	return false
}

// stale are the steps' names that differ nowhere any more in the scripts that
// were run, all of them or not.
func (l *ledger) stale(ran []script, all bool) []string {
	var out []string
	for _, d := range l.known {
		if !all && len(d.Scripts) > 0 && !slices.ContainsFunc(ran, func(s script) bool {
			return slices.ContainsFunc(d.Scripts, func(p string) bool { return like(p, s.name) })
		}) {
			continue
		}
		for _, p := range d.Steps {
			if l.used[d.Why+"\x00"+p] == 0 && !d.Sometimes {
				out = append(out, fmt.Sprintf("%q does not differ any more, though it was said: %s", p, d.Why))
			}
		}
	}
	return out
}

// like reports whether s is what pattern says, where a star is any text.
func like(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	rest, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}
