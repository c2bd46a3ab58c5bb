package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// state is what is known of a spec.
type state string

const (
	passes    state = "passes"
	fails     state = "fails"
	isLeftOut state = "left out"
)

// result is a row of the table.
type result struct {
	spec    string
	state   state
	seconds float64 // of the machine's clock
	speed   int     // of the cluster's clock
	reason  string
}

const head = `# Kubernetes' Conformance specs against kviz serve

Written by %[1]sgo run -C cluster/conformance .%[1]s; not to be edited. Kubernetes %[2]s has %[3]d Conformance specs: **%[4]d pass, %[5]d fail,
%[6]d are left out**. Seconds are the machine's. Each focus (a container of specs, see focuses.go) had a cluster of its own, whose clock ran at the
speed that is said: where a spec waits for the cluster for minutes, it runs faster.
`

// kubernetes is the version that go.mod names.
const kubernetes = "v1.37.1"

// beyondTables are the tables of the specs that are not Conformance, by group.
var beyondTables = map[string]string{"sig-apps": "WORKLOADS.md", "sig-autoscaling": "AUTOSCALING.md", "sig-scheduling": "SCHEDULING.md", "sig-storage": "STORAGE.md"}

const beyondHead = `# Kubernetes' other [SIG] specs against kviz serve

Written by %[1]sgo run -C cluster/conformance . -beyond%[1]s; not to be edited. The end-to-end tests of Kubernetes %[2]s have %[3]d specs of
[SIG] that are not Conformance: **%[4]d pass, %[5]d fail, %[6]d are left out**. Otherwise as in TABLE.md, which has those that are.
`

// aside takes the unlisted specs out of a group's, and says how many there are of each kind and why they
// are not run.
func aside(all []string) (listed []string, said string) {
	count := map[string]int{}
	for _, spec := range all {
		kind := ""
		for _, u := range unlisted {
			if kind == "" && strings.Contains(spec, u.specs) {
				kind = u.specs
			}
		}
		if kind == "" {
			listed = append(listed, spec)
		}
		count[kind]++
	}
	var b strings.Builder
	for _, u := range unlisted {
		if n := count[u.specs]; n > 0 {
			fmt.Fprintf(&b, "- %d with %q in their names: they %s\n", n, u.specs, u.reason)
		}
	}
	if b.Len() == 0 {
		return listed, ""
	}
	return listed, "\nThese are counted here only, and are left out:\n\n" + b.String()
}

func writeTable(path, head string, rows []result) error {
	var b strings.Builder
	count := map[state]int{}
	bySig := map[string]map[state]int{}
	for _, r := range rows {
		count[r.state]++
		if bySig[sig(r.spec)] == nil {
			bySig[sig(r.spec)] = map[state]int{}
		}
		bySig[sig(r.spec)][r.state]++
	}
	fmt.Fprintf(&b, head, "`", kubernetes, len(rows), count[passes], count[fails], count[isLeftOut])
	b.WriteString("\n| | pass | fail | left out |\n|---|---|---|---|\n")
	sigs := make([]string, 0, len(bySig))
	for s := range bySig {
		sigs = append(sigs, s)
	}
	slices.Sort(sigs)
	for _, s := range sigs {
		fmt.Fprintf(&b, "| [%s](#%s) | %d | %d | %d |\n", s, s, bySig[s][passes], bySig[s][fails], bySig[s][isLeftOut])
	}
	for _, s := range sigs {
		fmt.Fprintf(&b, "\n## %s\n\n| spec | | seconds | speed | reason |\n|---|---|---|---|---|\n", s)
		for _, r := range rows {
			if sig(r.spec) != s {
				continue
			}
			seconds, speed := "", ""
			if r.speed > 0 {
				seconds, speed = strconv.FormatFloat(r.seconds, 'f', 2, 64), strconv.Itoa(r.speed)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.spec, r.state, seconds, speed, r.reason)
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

var sigTag = regexp.MustCompile(`^\[(sig-[a-z-]+)\]`)

// sig is the special interest group whose spec it is.
func sig(spec string) string {
	m := sigTag.FindStringSubmatch(spec)
	if m == nil {
		return "other"
	}
	return m[1]
}

// readTable reads what was written before; nothing where there is no table yet.
func readTable(path string) ([]result, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var rows []result
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 5 || !sigTag.MatchString(strings.TrimPrefix(cells[0], "| ")) {
			continue
		}
		r := result{spec: strings.TrimPrefix(cells[0], "| "), state: state(cells[1]), reason: strings.TrimSpace(strings.TrimSuffix(cells[4], "|"))}
		if cells[3] != "" {
			var bad [2]error
			r.seconds, bad[0] = strconv.ParseFloat(cells[2], 64)
			r.speed, bad[1] = strconv.Atoi(cells[3])
			if err := errors.Join(bad[:]...); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", path, r.spec, err)
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// merge gives a row for each spec: what was found now, else before, else why it is not run.
func merge(run []focus, all []string, before, now []result) []result {
	known := map[string]result{}
	for _, r := range before {
		if r.state != isLeftOut || r.speed > 0 { // or left out by the spec itself
			known[r.spec] = r
		}
	}
	for _, r := range now {
		known[r.spec] = r
	}
	var rows []result
	for _, spec := range all {
		r, ok := known[spec]
		if why := reasonOf(run, spec); why != "" || !ok {
			r = result{spec: spec, state: isLeftOut, reason: cmp.Or(why, "has not been run yet")}
		}
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b result) int { return cmp.Compare(a.spec, b.spec) })
	return rows
}

// compare holds what was found against the table.
func compare(table, now []result) error {
	said := map[string]state{}
	for _, r := range table {
		said[r.spec] = r.state
	}
	var bad []error
	for _, r := range now {
		if r.state != passes && said[r.spec] == passes {
			bad = append(bad, fmt.Errorf("%s: %s", r.spec, r.reason))
		}
	}
	return errors.Join(bad...)
}
