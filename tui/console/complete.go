package console

import (
	"slices"
	"strings"

	"kviz/cluster/control"
	"kviz/cluster/view"
)

// Catalogue is what can be typed: the console's language, and what can be broken.
type Catalogue interface {
	Words() []control.Word
	Faults() []control.FaultKind
	Targets() []string
}

// own are the drawer's own commands, which no shell of the cluster's knows.
var own = []string{"clear", "fg", "help", "jobs", "kill"}

// completions gives the words that could stand after the words before: first
// words are commands, then what the catalogue knows to follow, then resources and names of
// objects. c is nil while the cluster starts; jobs are the console's (%1, %2).
func completions(s *view.State, c Catalogue, jobs []string, before []string, word string) []string {
	var out []string
	for _, w := range candidates(s, c, jobs, before) {
		// Flags are offered once one has been begun.
		if strings.HasPrefix(w, word) && (word != "" || !strings.HasPrefix(w, "-")) {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// candidates are all of them, whatever has been typed of the word.
func candidates(s *view.State, c Catalogue, jobs []string, before []string) []string {
	if len(before) > 0 && (before[0] == "kill" || before[0] == "fg" && len(before) == 1) {
		return jobs
	}
	var words []control.Word
	if c != nil {
		words = c.Words()
	}
	if len(before) == 0 {
		return append(named(words), own...)
	}
	if len(before) > 1 && before[0] == "kviz" && before[1] == "apiserver" {
		next, _ := follow(words, before[:2])
		return apiserverWords(s, next, before[2:])
	}
	next, rest := follow(words, before)
	switch {
	case before[0] == "on" && len(before) == 1:
		return names(s, "nodes", "")
	case before[0] == "on" && len(before) == 2:
		return named(next)
	case before[0] == "kviz" && len(before) > 1 && before[1] == "fault" && c != nil:
		return faultArguments(c, before[2:])
	case len(rest) == 0 && len(next) > 0:
		return named(next)
	case before[0] != "kubectl" && before[0] != "k":
		return nil
	case len(rest) == len(before)-1: // flags before the command
		return kubectlWords(s, before[2:])
	}
	return kubectlWords(s, rest)
}

// follow goes along words as far as they are known, and gives those that may come next
// and what is left of before.
func follow(words []control.Word, before []string) (next []control.Word, rest []string) {
	for i, b := range before {
		at := slices.IndexFunc(words, func(w control.Word) bool { return w.Name == b })
		if at < 0 {
			return words, before[i:]
		}
		words = words[at].Next
	}
	return words, nil
}

func named(words []control.Word) []string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = w.Name
	}
	return all
}

// faultArguments are the words of kviz fault: what can be done, to which of the targets that
// there are now, and, where that takes another word, which.
func faultArguments(ctl Catalogue, before []string) []string {
	var all []string
	kinds := ctl.Faults()
	if len(before) == 0 {
		for _, k := range kinds {
			all = append(all, k.Name)
		}
		slices.Sort(all)
		return append(slices.Compact(all), "list")
	}
	kindOf := func(target string) string { kind, _, _ := strings.Cut(target, "/"); return kind }
	of := func(target string) (control.FaultKind, bool) {
		i := slices.IndexFunc(kinds, func(k control.FaultKind) bool {
			return k.Name == before[0] && k.Target == kindOf(target)
		})
		if i < 0 {
			return control.FaultKind{}, false
		}
		return kinds[i], true
	}
	if len(before) == 1 {
		for _, t := range ctl.Targets() {
			if _, applies := of(t); applies || before[0] == "list" {
				all = append(all, t)
			}
		}
		return all
	}
	what, applies := of(before[1])
	if i := slices.IndexFunc(kinds, func(k control.FaultKind) bool { return k.Name == before[0] }); !applies && i >= 0 {
		what = kinds[i] // a target that is not there yet
	}
	switch how, _, _ := strings.Cut(what.Args, " "); {
	case kindOf(before[1]) == "member" && (len(before) == 2 && how == "PEER" || how == "[MEMBER…]"):
		for _, t := range ctl.Targets() {
			if kind, name, _ := strings.Cut(t, "/"); kind == "member" && t != before[1] {
				all = append(all, name)
			}
		}
	case len(before) == 2 && strings.Contains(how, "|") && strings.ToUpper(how) != how: // DURATION|FACTOR are no words
		all = strings.Split(strings.Trim(how, "[]"), "|")
	}
	return all
}

// apiserverWords are the words of kviz apiserver: what it does, and the names of the API
// servers where it takes one; the first cannot be removed.
func apiserverWords(s *view.State, does []control.Word, before []string) []string {
	if len(before) > 1 && before[0] == "--server" {
		before = before[2:]
	} else if len(before) > 0 && strings.HasPrefix(before[0], "--server=") {
		before = before[1:]
	}
	if len(before) == 0 {
		return named(does)
	}
	var found []string
	for _, x := range s.Balancer.Servers {
		_, name, other := strings.Cut(x.Server, "/")
		switch {
		case len(before) > 1:
		case before[0] == "remove" && other:
			found = append(found, name)
		case before[0] == "--server":
			found = append(found, x.Server)
		}
	}
	return found
}

func kubectlWords(s *view.State, before []string) []string {
	namespace := "default"
	var words []string
	for i := 0; i < len(before); i++ {
		switch {
		case before[i] == "-n" && i+1 < len(before):
			namespace = before[i+1]
			i++
		case before[i] == "-n":
			return names(s, "namespaces", "")
		case !strings.HasPrefix(before[i], "-"):
			words = append(words, before[i])
		}
	}
	if len(before) > 0 && before[len(before)-1] == "-n" {
		return names(s, "namespaces", "")
	}
	if len(words) == 0 {
		var all []string
		for r := range s.Resources() {
			all = append(all, r)
		}
		return all
	}
	found := names(s, words[len(words)-1], namespace)
	return append(found, names(s, words[0], "\x00cluster")...)
}

// names lists the objects of a resource in a namespace; "\x00cluster" stands
// for those without one.
func names(s *view.State, resource, namespace string) []string {
	var out []string
	s.EachObject(resource, "", func(o *view.Object) bool {
		if o.Namespace() == namespace || namespace == "\x00cluster" && o.Namespace() == "" {
			out = append(out, o.Name())
		}
		return true
	})
	return out
}
