//go:build unix

package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// What moves, as it stands on the screen.
var (
	lit       = regexp.MustCompile(`[├┣]━|━[┤┫]`) // the end of a link on which something is
	leads     = regexp.MustCompile(`★ ([abc])  LEADS`)
	candidate = regexp.MustCompile(`◇ ([abc])  CANDIDATE`)
	vote      = regexp.MustCompile(`[abc]◇`) // a vote that is on its way
	hole      = regexp.MustCompile(`no write \d+(\.\d)?s`)
	lost      = regexp.MustCompile(`(?i)no quorum`)
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

// From the start to the loss of the quorum, as it is seen: links light up, the star moves
// from a leader that dies to another while the votes cross, the store falls, writes leave a
// hole in the row of latencies, and all comes back.
func TestWalkToTheLossOfTheQuorum(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			s := begin(t, t.TempDir(), size[0], size[1], "explore", "--motion", "full")
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
			menu(first)
			s.press("down", "enter").sees("2/3") // killed, without warning
			if stands := s.matches(candidate); stands == first {
				t.Errorf("%s stands for election, which has crashed", first)
			}
			s.matches(vote)
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
			s.press("2")
			menu(first)
			s.sees("Start it again").press("enter").sees("2/3")
			s.matches(leads)
			s.misses("no quorum: 1 of 3")
			s.press("q").sees("Leave kviz?").press("q").ends(0)
		})
	}
}
