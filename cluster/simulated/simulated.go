// Package simulated is the list of what is not the real thing: simulated, simplified or
// not modelled. Kubernetes has no such list, because it is the real thing.
//
// Each package states its simplifications where it makes them ([Say]), in terms of what
// a user can notice. kviz help simulated is generated from these statements
// (assets/docs/simulated.md, see [Page]); a test makes sure that the page is not stale,
// and that no package comment claims a simplification that is not stated here. Start
// reading at [Statement].
package simulated

import (
	"cmp"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
)

// How something differs from the real thing.
type How string

// The ways.
const (
	Simulated  How = "simulated"    // it stands in for something real that is not here
	Simplified How = "simplified"   // it does what the real one does, and less
	Absent     How = "not modelled" // nothing does it
)

// The areas, in the order of the page.
const (
	Containers   = "Containers and images"
	Nodes        = "Nodes"
	Network      = "The network"
	API          = "The API server and its surroundings"
	Controllers  = "Controllers"
	Scheduling   = "The scheduler"
	Clients      = "What clients are made of"
	Store        = "The store"
	TheConsole   = "The console"
	TimeAndClock = "Time"
)

var areas = []string{Containers, Nodes, Network, API, Controllers, Scheduling, Clients, Store, TheConsole, TimeAndClock}

// Statement is one thing that is not as in reality.
type Statement struct {
	Area string
	How  How
	// What is a sentence without a full stop, in plain words.
	What string
	// Seen is where the screen says so: "kubectl exec, in its error". Empty: nothing does.
	Seen string
	// In is the package, for those that say it on behalf of one that cannot; by default
	// it is the caller's.
	In string
}

var said []Statement

// Say makes a statement known. It is called when a package is initialized.
func Say(s Statement) bool {
	if s.In == "" {
		_, file, _, _ := runtime.Caller(1)
		s.In = inModule(path.Dir(file))
	}
	said = append(said, s)
	return true
}

// inModule is a folder of the sources, from the module's root on.
func inModule(dir string) string {
	for _, root := range []string{"/cluster", "/raftstore"} {
		if at := strings.LastIndex(dir+"/", root+"/"); at >= 0 {
			return dir[at+1:]
		}
	}
	return dir
}

// All are the statements, by area, package and words.
func All() []Statement {
	all := slices.Clone(said)
	slices.SortFunc(all, func(a, b Statement) int {
		return cmp.Or(cmp.Compare(slices.Index(areas, a.Area), slices.Index(areas, b.Area)), cmp.Compare(a.In, b.In), cmp.Compare(a.What, b.What))
	})
	return all
}

// width is how wide the page is.
const width = 100

// Page is the page of kviz help, of all statements.
func Page() string {
	var b strings.Builder
	b.WriteString("# What is simulated, simplified or not modelled\n\n")
	b.WriteString(wrap("Everything above the Linux kernel's boundary behaves as Kubernetes v1.37 and etcd v3.7 do, except for what is listed here. "+
		"This page is generated from statements in the code, each at the place that it is about; the package is given in parentheses.", "", ""))
	area := ""
	for _, s := range All() {
		if s.Area != area {
			area = s.Area
			fmt.Fprintf(&b, "\n## %s\n\n", area)
		}
		text := string(s.How) + ": " + s.What + "."
		if s.Seen != "" {
			text += " Where it shows: " + s.Seen + "."
		}
		b.WriteString(wrap(text+" ("+s.In+")", "- ", "  "))
	}
	return b.String()
}

// wrap breaks a text into lines.
func wrap(text, first, rest string) string {
	var b strings.Builder
	line := first
	for _, word := range strings.Fields(text) {
		if len([]rune(line))+1+len([]rune(word)) > width && strings.TrimSpace(line) != "" {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = rest
		}
		if line != first && line != rest {
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
	return b.String()
}
