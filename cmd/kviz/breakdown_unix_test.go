//go:build unix

package main

import (
	"strings"
	"testing"

	"kviz/raftstore/steady"
)

// Whatever breaks down while the screen is shown, the terminal is given back as
// it was, the exit status says that something is wrong, and the report has what
// is needed to see it again.
func TestABreakdownGivesTheTerminalBack(t *testing.T) {
	steady.RealTime(t, aTerminal)
	for name, report := range map[string]string{
		"kviz-update":    "The explorer broke down, not the cluster.",
		"kviz-goroutine": "The explorer broke down, not the cluster.",
		"kviz-kernel":    "kviz found something that must never happen.",
	} {
		t.Run(name, func(t *testing.T) {
			s := beginAs(t, name, t.TempDir(), 100, 30, "explore", "--seed", "5")
			if name == "kviz-kernel" { // what was seen can still be looked at
				s.sees("ENDED").press(",").sees("PAST").press("q")
			}
			all := s.ends(1)
			// What breaks down before the first frame finds the terminal as it was.
			if left := strings.LastIndex(all, "\x1b[?1049l"); left >= 0 {
				all = all[left:]
			} else if strings.Contains(all, "\x1b[?1049h") {
				t.Errorf("the screen was not given back:\n%q", all)
			}
			for _, want := range []string{report, "the floor gave way", "version ", "seed 5", "crash_test.go", "\n#"} {
				if !strings.Contains(all, want) {
					t.Errorf("after the screen there is no %q:\n%s", want, all)
				}
			}
		})
	}
}
