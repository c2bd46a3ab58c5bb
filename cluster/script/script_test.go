package script

import (
	"errors"
	"strings"
	"testing"
)

// No script, however it is nested, takes the process with it; what people write is read.
func TestParse(t *testing.T) {
	const many = 30_000
	for name, one := range map[string]struct{ open, within, shut string }{
		"subshells":     {"(", "", ""},
		"whole":         {"(", "a", ")"},
		"blocks":        {"{ ", "a", "; }"},
		"substitutions": {"$(", "a", ")"},
		"backquotes":    {"`\\", "", ""},
		"quoted":        {"\"$(", "a", ")\""},
		"parameters":    {"${a:-", "b", "}"},
		"arithmetic":    {"$((", "1", "))"},
		"brackets":      {"$((-", "1", "))"},
		"parentheses":   {"((", "1", "))"},
		"loops":         {"while ", "a", "; do b; done"},
		"conditions":    {"if ", "a", "; then b; fi"},
		"cases":         {"case a in b) ", "a", ";; esac"},
		"functions":     {"f() { ", "a", "; }"},
		"arrays":        {"a=(", "", ")"},
		"tests":         {"[[ ( ", "a", " ) ]]"},
		"negations":     {"[[ ! ", "a", " ]]"},
		"processes":     {"cat <(", "a", ")"},
		"and":           {"a && ", "b", ""},
		"pipes":         {"a | ", "b", ""},
		"coprocesses":   {"coproc ", "a", ""},
		"timed":         {"time ", "a", ""},
		"choices":       {"$((a?", "1", ":2))"},
	} {
		n := min(many, (MaxSize-10)/(len(one.open)+len(one.shut)))
		text := strings.Repeat(one.open, n) + one.within + strings.Repeat(one.shut, n)
		if _, err := Parse(text, ""); err == nil {
			t.Errorf("%s: %d in one another are read", name, n)
		}
	}
	for name, text := range map[string]string{
		"some": strings.Repeat("(", 200) + "a" + strings.Repeat(")", 200), "long": strings.Repeat("for i in 1 2; do (echo ${i:-3} | cat) && true; done\n", 20_000),
		"a manifest": "kubectl apply -f - <<EOF\n" + strings.Repeat("{a: [1, 2]} | && ( `x`\n", 20_000) + "EOF\n",
		"chained":    strings.Repeat("a && ", 500) + "b",
	} {
		if _, err := Parse(text, ""); err != nil && (name != "a manifest" || errors.Is(err, ErrTooDeep)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Parse(strings.Repeat("#", MaxSize+1), ""); !errors.Is(err, ErrTooLong) {
		t.Errorf("too long: %v", err)
	}
}
