//go:build unix

package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"kviz/raftstore/steady"
)

// What moves, as it stands on the screen.
var (
	lit   = regexp.MustCompile(`[├┣]━|━[┤┫]`) // the end of a link on which something is
	leads = regexp.MustCompile(`★ ([abc])  LEADS`)
	stood = regexp.MustCompile(`votes for ([abc]), term`)
	vote  = regexp.MustCompile(`\[?[abc] ?✓`) // one that was given
	hole  = regexp.MustCompile(`no write \d+(\.\d)?s`)
	lost  = regexp.MustCompile(`(?i)no quorum`)
	down  = regexp.MustCompile(`✗ [abc]  down`)
)

// matches waits until the screen matches, and gives what the first group found.
func (s *terminal) matches(what *regexp.Regexp) string {
	s.t.Helper()
	found := ""
	s.until("the screen never matched", func(text string) bool {
		m := what.FindStringSubmatch(text)
		if m != nil {
			found = m[len(m)-1]
		}
		return m != nil
	}, []string{what.String()})
	return found
}

// The floors of the map that fall one after the other, in the words of both sizes.
var floors = []*regexp.Regexp{
	regexp.MustCompile(`✗ store`),
	regexp.MustCompile(`✗ writes`),
	regexp.MustCompile(`✗ scheduler`),
	regexp.MustCompile(`✗ controllers`),
	regexp.MustCompile(`◑ (Leases|nodes' Leases)`),
}

// floorsFall waits until all floors have fallen that fall at all, and holds that none does before one on which
// it stands: the store before writes, these before the Leases that need them, those of the control plane, which
// are renewed within ten seconds, before those of nodes, for which forty are given. What asks no store stands.
func (s *terminal) floorsFall() {
	s.t.Helper()
	s.press("+", "+") // 5x: the nodes' Leases have forty seconds
	seen := make([]int, len(floors))
	looks := 0
	s.until("the floors did not fall", func(text string) bool {
		looks++
		all := true
		for i, f := range floors {
			if seen[i] == 0 && f.MatchString(text) {
				seen[i] = looks
			}
			all = all && seen[i] > 0
		}
		return all
	}, []string{"✗ store ✗ writes ✗ scheduler ✗ controllers ◑ Leases"})
	if seen[0] > seen[1] || seen[1] > min(seen[2], seen[3]) || max(seen[2], seen[3]) >= seen[4] {
		s.t.Errorf("store, writes, scheduler, controllers and nodes' Leases were seen to fall at looks %v:\n%s", seen, s.text())
	}
	s.sees("● Pods", "Services").press("-", "-")
}

// cutInstead goes back to before a member was killed and has it cut off from the others instead, in a branch of
// the run: no member is down there, a write is taken, and what came of both runs is compared.
func (s *terminal) cutInstead(member string) {
	s.t.Helper()
	crash := "broken: crash member/" + member
	way := "{"
	for range 40 { // the marks after it: the other fault, what was mended, elections
		at := s.text()
		if strings.Contains(at, crash) {
			break
		}
		if strings.Contains(at, "no more commands, faults or elections") { // a mark was drawn in two parts, and passed by
			way = "}"
		}
		s.press(way)
		s.until("the mark does not change from", func(text string) bool { return text != at }, []string{at})
	}
	s.sees(crash, "PAST").press(",", ",").sees("3/3 quorum", "F fork")
	s.press("F").sees("first run is run again up to #").press("enter").sees("run 2 stands where first run was", "3/3 quorum")
	s.press("space").sees("RUNNING").press(":").sees("Console")
	others := strings.Join(slices.DeleteFunc([]string{"a", "b", "c"}, func(m string) bool { return m == member }), " ")
	// One line: the console takes no second one while the first runs, and says so.
	s.command("kviz fault cut member/" + member + " " + others + " && kubectl create configmap meanwhile")
	s.sees("configmap/meanwhile created").press("esc", "esc").misses("Console")
	s.press("space").sees("PAUSED")
	if down.MatchString(s.text()) {
		s.t.Errorf("a member is down in the run in which none was killed:\n%s", s.text())
	}
	s.press("C").sees("first run Store", "≠")
	s.press("D").sees("the first that differs", "PAST").press("W").sees("What came of it", "The same up to #", "refused by the store", "longest without a write")
	longest := regexp.MustCompile(`≠ longest without a write +(\S+).*`)
	if !longest.MatchString(s.text()) {
		s.t.Errorf("a lost quorum and a cut came to the same:\n%s", s.text())
	}
	s.press("esc").misses("What came of it").press("C").misses("first run Store")
}

// From the start to the loss of the quorum, as it is seen: links light up, the star moves
// from a leader that dies to another while the votes cross, the store falls, writes leave a
// hole in the row of latencies, floor falls after floor, and all comes back. Then from before the kill once more, with
// a cut instead, and both beside each other.
func TestWalkToTheLossOfTheQuorum(t *testing.T) {
	steady.RealTime(t, aTerminal)
	s := begin(t, t.TempDir(), 80, 24, "explore", "--motion", "full")
	menu := func(member string) { // of what can be done to a member
		s.press("ctrl+p").sees("Do anything").press("break it", "enter").sees("Break or mend")
		if !strings.Contains(s.text(), "Break or mend what?") {
			s.press("end", "enter") // the last line: something else
		}
		s.sees("Break or mend what?").press("member "+member, "enter").sees("Break or mend member " + member)
	}
	s.sees("RUNNING", "★").press(":").sees("Console").command("kubectl create deployment web --image=nginx:stable")
	s.sees("web created").press("esc", "esc").misses("Console")
	s.matches(lit)

	s.press("2", "z")
	first := s.matches(leads)
	s.press("-", "-") // how the votes fell stands there for three of the cluster's seconds
	menu(first)
	s.press("down", "enter").sees("2/3") // killed, without warning
	s.matches(down)
	if stands := s.matches(stood); stands == first {
		t.Errorf("%s stands for election, which has crashed", first)
	}
	s.matches(vote)
	s.press("+", "+")
	second := ""
	s.until("the star did not move", func(text string) bool {
		m := leads.FindStringSubmatch(text)
		if m != nil {
			second = m[1]
		}
		return second != "" && second != first
	}, []string{"LEADS"})

	menu(second)
	s.press("down", "enter").sees("1/3")
	s.sees("no quorum: 1 of 3 members are up").press("1").matches(lost) // the store falls
	s.matches(hole)                                                     // then writes, which wait
	if !lost.MatchString(s.text()) {
		t.Error("the store stands while writes cannot be done")
	}
	s.floorsFall()

	s.press("2")
	menu(first)
	s.sees("Start it again").press("enter").sees("2/3")
	s.matches(leads)
	s.misses("no quorum: 1 of 3")

	s.press("space").sees("PAUSED")
	s.cutInstead(first)
	s.press("q").sees("The branches end").press("q").ends(0)
}
