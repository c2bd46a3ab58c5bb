package lessons

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"kviz/cluster/trace"
)

// ringWords are the words for what a ring may be drawn around, by the pane and the kind of thing that
// the ring names. Each stands for all that begins with it: "commit" for committed, too. A kind
// that is not here is its own word.
var ringWords = map[string][]string{
	"api:req":            append(stages(), "request", "admission", "webhook"),
	"api:stages":         append(stages(), "stage"),
	"api:balanced":       {"server", "balancer"},
	"api:traffic":        {"told", "watch"},
	"map:process":        {"API server", "controller", "scheduler"},
	"map:store":          {"etcd", "store"},
	"node:pod":           {"pod", "container", "sandbox", "volume", "image"},
	"object:deletion":    {"deletionTimestamp"},
	"object:keeper":      {"condition", "finalizer"},
	"object:revision":    {"resourceVersion", "revision"},
	"object:tree":        {"owner"},
	"object:write":       {"write", "update", "patch", "change", "body"},
	"queues:informer":    {"informer", "copy", "cache"},
	"queues:run":         {"run", "controller", "garbage collector"},
	"scheduler:decision": {"decided", "decision"},
	"store:alarm":        {"alarm", "NOSPACE"},
	"store:answer":       {"answer", "asked"},
	"store:cancelled":    {"watch"},
	"store:compacted":    {"compact", "history begins"},
	"store:create":       {"CreateRevision"},
	"store:endpoint":     {"goes through"},
	"store:entry":        {"entry"},
	"store:latency":      {"commit", "voter"},
	"store:full":         {"disk", "write"},
	"store:member":       {"member", "leader", "follower", "candidate", "learner"},
	"store:mod":          {"ModRevision"},
	"store:msg":          {"message", "pre-vote", "vote for me", "send", "sent"},
	"store:quorum":       {"quorum", "majority"},
	"store:rev":          {"object", "write", "revision"},
	"store:status":       {"member", "leader", "file"},
	"store:unmet":        {"else"},
	"store:value":        {"value", "key"},
}

// stages are the words for the stages of a request.
func stages() (all []string) {
	for _, s := range trace.Stages() {
		name := strings.ReplaceAll(s, "-", " ")
		all = append(all, strings.TrimSuffix(strings.TrimSuffix(name, "ation"), "ion"))
	}
	return all
}

// named refuses a see beat whose text does not name what is in a ring: by the same value
// ({leader} in both), by a name that stands in the ring's (settings, in the ring
// store:key//registry/configmaps/demo/settings), or by the word for such a thing.
func (l *Lesson) named(beat int, ring *Text) error {
	for _, v := range ring.values() {
		if slices.ContainsFunc(l.Steps[beat].Caption, func(t *Text) bool { return strings.Contains(t.src, v) }) {
			return nil
		}
	}
	name, part, _ := strings.Cut(ring.without(), "#")
	pane, path, _ := strings.Cut(name, ":")
	kind, rest, _ := strings.Cut(path, "/")
	words := ringWords[pane+":"+kind]
	switch {
	case kind == "self":
		words = l.object(beat)
	case words == nil:
		words = []string{kind}
	}
	words = append(ownNames(rest+"/"+part), words...)
	text := l.Steps[beat].caption()
	for _, w := range words {
		if beginsWith(w).MatchString(text) {
			return nil
		}
	}
	return fmt.Errorf("its text does not name what is in the ring %q: it says none of %s", ring.src, strings.Join(words, ", "))
}

// beginsWith finds words that begin with one.
func beginsWith(word string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(word))
}

// ownNames are the names in the path of a ring: without where all keys begin, the namespace of
// lessons, what only says how much is ringed, and numbers.
func ownNames(path string) (names []string) {
	for _, n := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune("/. =", r) }) {
		if len(n) > 1 && !slices.Contains([]string{"registry", "demo", "changes", "actions"}, n) {
			names = append(names, strings.TrimSuffix(n, "s"))
		}
	}
	return names
}

// object are the names of the object on the stage: its kind in the singular, and its own.
func (l *Lesson) object(beat int) []string {
	for ; beat >= 0; beat-- {
		show := l.Steps[beat].Stage.Show
		if show == nil {
			continue
		}
		parts := strings.Split(show.without(), "/")
		if len(parts) > 1 {
			parts[1] = strings.TrimSuffix(parts[1], "s")
		}
		return parts[1:]
	}
	return nil
}
