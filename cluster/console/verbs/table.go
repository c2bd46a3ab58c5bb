package verbs

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"kviz/cluster/console/command"
	"kviz/cluster/nearest"
)

// verb is one kviz verb of the console.
type verb struct {
	name  string
	usage []string // what follows the name, one line a form
	means string   // one line
	page  string   // of kviz help that tells more; "" for none
	run   func(ctx context.Context, inv *use, args []string) int
}

// group are verbs that belong together. kviz help NAME, in small letters, lists them.
type group struct {
	title string
	verbs []verb
}

func (g group) name() string { return strings.ToLower(g.title) }

// groups are all the verbs, in the order in which help tells them.
var groups []group

func init() { // not a composite literal: what the verbs run refers to the table
	groups = []group{
		{"Time", []verb{
			{"pause", []string{""}, "make the cluster stand still", "time", pause},
			{"resume", []string{""}, "let it run on", "time", resume},
			{"step", []string{"[GRAIN]"}, "run to the next event of a grain, or a coarser one", "time", step},
			{"until", []string{"[--timeout D] EXPR"}, "run until an expression holds, then stand still", "time", until},
			{"wait", []string{"[--timeout D] EXPR"}, "wait until an expression holds (5m at most)", "time", waitFor},
			{"skip", []string{""}, "jump to the next timer", "time", skip},
			{"speed", []string{"X|max"}, "virtual seconds in a real one: 0.02, 1, 10, max", "time", speed},
			{"status", []string{""}, "how the clock stands", "time", status},
			{"break", []string{"[EXPR]", "remove N"}, "stand still after each event for which it holds", "time", breakVerb},
		}},
		{"Look", []verb{
			{"why", []string{"[--full] N", "[-n NAMESPACE] KIND/NAME", "store|store/leader|member/a|kubelet/node-1|WORD"}, "why something is as it is, or what a word means", "look", why},
			{"print", []string{"EXPR"}, "what an expression comes to", "look", printVerb},
			{"clients", []string{"[RESOURCE]"}, "who reads what how often, and who watches", "look", clientsVerb},
			{"cascade", []string{"[STEP]"}, "how slowness climbs from the disks to the queues", "look", cascade},
			{"read", []string{"KEY"}, "ask every member of the store for a key", "store", readMembers},
			{"endpoints", []string{""}, "how other programs reach the cluster", "outside", endpoints},
		}},
		{"Faults", []verb{
			{"fault", []string{"list [TARGET]", "NAME TARGET [ARGS]"}, "break or mend something", "faults", faultVerb},
			{"load", []string{
				"", "TARGET [--cpu CURVE] [--memory CURVE] [--metric NAME=CURVE]... [--container C] [--each] [-n NAMESPACE]",
				"--external NAME=CURVE... [--labels KEY=VALUE,...] [-n NAMESPACE]", "[TARGET [--container C] [-n NAMESPACE]] --off",
			}, "what pods have to do, and what metrics say", "load", loadVerb},
			{"restore", []string{"FILE [--bump-revision N --mark-compacted]"}, "let the store go on from a backup", "store", restore},
		}},
		{"Admin", []verb{
			{"apiserver", []string{
				"[--server NAME] encryption [FILE|--none] [--automatic-reload[=false]]", "[--server NAME] audit|admission [FILE|--none]",
				"[--server NAME] tokens|authentication|token-webhook|authorization [FILE|--none]", "[--server NAME] concurrency [N]", "storm USER [N]",
				"pollers N [RESOURCE [EVERY]]", "[--server NAME] etcd-servers [MEMBER,MEMBER…|--all]", "servers", "add", "remove NAME",
			}, "configure and load the API servers, add another one", "apiserver", apiserverVerb},
			{"scheduler", []string{"config [FILE|--none]", "allow|reject pod/NAME [-n NAMESPACE]"}, "configure the scheduler; answer for a Permit plugin", "scheduler", schedulerVerb},
			{"certificate", []string{"--user NAME [--group G]... [--ttl D | --request] FILE"}, "a client certificate, or a request for one", "identities", certificate},
			{"oidc", []string{"", "login USER [--group G]... [--audience A]... [--ttl D] [--claim NAME=VALUE]..."}, "the identity provider, and a token of it", "identities", oidcVerb},
			{"token", []string{"decode TOKEN"}, "what a JSON web token says of itself", "identities", tokenVerb},
			{"node", []string{"join [--token ID.SECRET]"}, "another machine becomes a node", "identities", nodeVerb},
		}},
	}
}

func findVerb(name string) (verb, bool) {
	for _, g := range groups {
		for _, v := range g.verbs {
			if v.name == name {
				return v, true
			}
		}
	}
	return verb{}, false
}

func verbNames() (all []string) {
	for _, g := range groups {
		all = append(all, names(g.verbs)...)
	}
	slices.Sort(all)
	return all
}

// Run is the command that drives the simulation.
func (k *Verbs) Run(ctx context.Context, inv *command.Invocation) int {
	args := inv.Args[1:]
	if len(args) == 0 || args[0] == "help" || args[0] == "--help" || args[0] == "-h" {
		if len(args) < 2 {
			printVerbs(inv.Out, groups)
			return 0
		}
		return k.help(inv, args[1])
	}
	v, ok := findVerb(args[0])
	if !ok {
		fmt.Fprintf(inv.Err, "kviz: unknown verb %q", args[0])
		if near := nearest.To(args[0], verbNames()); near != "" {
			fmt.Fprintf(inv.Err, "; did you mean %q?\n", near)
		} else {
			fmt.Fprintf(inv.Err, ": one of %s\n", strings.Join(verbNames(), ", "))
		}
		return 2
	}
	if len(args) == 2 && (args[1] == "--help" || args[1] == "-h") {
		return k.help(inv, v.name)
	}
	if k.cfg.Cluster == nil {
		fmt.Fprintf(inv.Err, "kviz %s: this console drives no clock\n", v.name)
		return 1
	}
	return v.run(ctx, &use{Invocation: inv, cfg: &k.cfg}, args[1:])
}

// screen is how many lines kviz help has: those of a terminal of 24, but the prompt.
const screen = 23

// printVerbs tells of them on one screen, a line each. Groups for which that has no room
// are a line each, the last ones first: kviz help GROUP has the lines of their verbs.
func printVerbs(w io.Writer, groups []group) {
	lines, open := 1, len(groups)
	for _, g := range groups {
		lines += len(g.verbs)
	}
	for lines > screen && open > 0 {
		open--
		lines -= len(groups[open].verbs) - 1
	}
	for _, g := range groups[:open] {
		printGroup(w, g)
	}
	for _, g := range groups[open:] {
		fmt.Fprintf(w, "%-6s kviz help %s: %s\n", g.title, g.name(), strings.Join(names(g.verbs), ", "))
	}
	fmt.Fprintln(w, "kviz help VERB tells how one is used, kviz help topics which pages there are")
}

func printGroup(w io.Writer, g group) {
	title := g.title
	for _, v := range g.verbs {
		fmt.Fprintf(w, "%-6s kviz %-12s %s\n", title, v.name, v.means)
		title = ""
	}
}

func names(verbs []verb) (all []string) {
	for _, v := range verbs {
		all = append(all, v.name)
	}
	return all
}

// printUse tells how a verb is used.
func printUse(w io.Writer, v verb) {
	for i, form := range v.usage {
		head := "usage:"
		if i > 0 {
			head = "   or:"
		}
		fmt.Fprintln(w, strings.TrimSpace(head+" kviz "+v.name+" "+form))
	}
}

// help tells of a verb, a group of verbs or a topic; a group may have the name of the
// topic that tells more.
func (k *Verbs) help(inv *command.Invocation, word string) int {
	pages := k.cfg.Docs
	if v, ok := findVerb(word); ok {
		fmt.Fprintf(inv.Out, "kviz %s: %s\n", v.name, v.means)
		printUse(inv.Out, v)
		if v.name != v.page {
			fmt.Fprintf(inv.Out, "more: kviz help %s\n", v.page)
			return 0
		}
		fmt.Fprintln(inv.Out)
	}
	if word == "topics" {
		for _, t := range Topics(pages) {
			fmt.Fprintf(inv.Out, "  kviz help %-12s %s\n", t.Name, t.Title)
		}
		return 0
	}
	if i := slices.IndexFunc(groups, func(g group) bool { return g.name() == word }); i >= 0 {
		printGroup(inv.Out, groups[i])
		if !slices.ContainsFunc(Topics(pages), func(t Topic) bool { return t.Name == word }) {
			return 0
		}
		fmt.Fprintln(inv.Out)
	}
	text, err := Page(pages, word)
	if err != nil {
		fmt.Fprintf(inv.Err, "kviz help: %v\n", err)
		return 2
	}
	fmt.Fprint(inv.Out, text)
	return 0
}
