package verbs

import (
	"regexp"
	"slices"
	"strings"

	"kviz/cluster/control"
)

// Words are the verbs, and what the table says may follow them.
func Words() []control.Word {
	help := control.Word{Name: "help", Next: control.Words(append(verbNames(), "topics")...)}
	all := []control.Word{help}
	for _, g := range groups {
		for _, v := range g.verbs {
			all = append(all, control.Word{Name: v.name, Next: control.Words(literals(v.usage)...)})
		}
	}
	return all
}

// literal is what is typed as it stands: a word in small letters, or a flag.
var literal = regexp.MustCompile(`^(--)?[a-z][a-z-]*$`)

// literals are the words that may come first after a verb, and its flags: of
// "[--server NAME] audit|admission [FILE|--none]" --server, audit, admission and --none.
func literals(usage []string) (all []string) {
	for _, form := range usage {
		first, value := true, false // value: the token is what a flag is given
		for _, token := range strings.Fields(form) {
			flag := false
			for _, word := range strings.Split(strings.Trim(token, "[].…"), "|") {
				word, _, _ = strings.Cut(word, "=")
				word = strings.TrimRight(word, "[")
				flag = flag || strings.HasPrefix(word, "--")
				if literal.MatchString(word) && !value && (first || strings.HasPrefix(word, "--")) {
					all = append(all, word)
				}
			}
			first = first && (flag || value)
			value = flag && !strings.HasSuffix(token, "]")
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
