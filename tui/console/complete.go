package console

import (
	"slices"
	"sort"
	"strings"

	"kviz/cluster/control"
	"kviz/cluster/view"
)

// Catalogue is what can be broken, whose words are completed.
type Catalogue interface {
	Faults() []control.FaultKind
	Targets() []string
}

// completions gives the words that could stand after the words before: first
// words are commands, then verbs, then resources, then names of objects. ctl is nil
// while the cluster starts; jobs are the console's (%1, %2).
func completions(s *view.State, ctl Catalogue, jobs []string, before []string, word string) []string {
	var all []string
	switch {
	case len(before) == 0:
		all = []string{"kubectl", "etcdctl", "etcdutl", "kviz", "help", "clear", "jobs", "kill", "fg", "crictl", "iptables", "iptables-save", "ipvsadm", "nft", "ip", "ls", "cat", "curl", "dig"}
	case before[0] == "kill" || before[0] == "fg" && len(before) == 1:
		all = jobs
	case before[0] == "kubectl" && len(before) == 1:
		all = []string{
			"get", "describe", "apply", "create", "delete", "edit", "scale", "rollout", "logs", "exec", "expose", "run", "label", "annotate",
			"patch", "taint", "cordon", "uncordon", "drain", "top", "wait", "explain", "auth", "api-resources", "version", "events", "set", "autoscale",
		}
	case before[0] == "etcdctl" && len(before) == 1:
		all = etcdWords[""]
	case before[0] == "etcdctl" && len(before) == 2:
		all = etcdWords[before[1]]
	case before[0] == "etcdutl" && len(before) == 1:
		all = []string{"snapshot", "hashkv", "defrag", "migrate", "version"}
	case before[0] == "etcdutl" && len(before) == 2 && before[1] == "snapshot":
		all = []string{"status", "restore"}
	case before[0] == "kviz" && len(before) == 1:
		all = []string{"apiserver", "break", "cascade", "certificate", "clients", "node", "oidc", "pause", "print", "resume", "status", "step", "until", "speed", "skip", "why", "fault", "wait", "read", "restore", "endpoints", "token"}
	case before[0] == "kviz" && before[1] == "apiserver":
		all = apiserverWords(s, before[2:])
	case before[0] == "kviz" && before[1] == "fault" && ctl != nil:
		all = faultArguments(ctl, before[2:])
	case before[0] == "kubectl":
		all = kubectlWords(s, before[2:])
	}
	var out []string
	for _, w := range all {
		if strings.HasPrefix(w, word) {
			out = append(out, w)
		}
	}
	sort.Strings(out)
	return out
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
// servers, of which the first cannot be removed.
func apiserverWords(s *view.State, before []string) []string {
	if len(before) == 0 || strings.HasPrefix(before[len(before)-1], "--server=") {
		return []string{
			"add", "admission", "audit", "authentication", "authorization", "concurrency", "encryption", "etcd-servers", "remove", "--server",
			"servers", "storm", "token-webhook", "tokens",
		}
	}
	last := before[len(before)-1]
	var names []string
	for _, x := range s.Balancer.Servers {
		_, name, other := strings.Cut(x.Server, "/")
		switch {
		case last == "remove" && other:
			names = append(names, name)
		case last == "--server":
			names = append(names, x.Server)
		}
	}
	return names
}

// etcdWords are etcdctl's commands, and those below each.
var etcdWords = map[string][]string{
	"": {
		"get", "put", "del", "txn", "watch", "lease", "member", "endpoint", "compaction", "snapshot", "alarm", "defrag", "move-leader",
		"user", "role", "auth", "version", "help",
	},
	"lease":    {"grant", "revoke", "timetolive", "list", "keep-alive"},
	"member":   {"list", "add", "promote", "remove", "update"},
	"endpoint": {"status", "health", "hashkv"},
	"snapshot": {"save"},
	"alarm":    {"list", "disarm"},
	"user":     {"add", "delete", "get", "list", "passwd", "grant-role", "revoke-role"},
	"role":     {"add", "delete", "get", "list", "grant-permission", "revoke-permission"},
	"auth":     {"enable", "disable", "status"},
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
