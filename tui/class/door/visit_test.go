package door_test

import (
	"strings"
	"testing"

	"kviz/raftstore/steady"
	"kviz/tui/class/door"
)

// Somebody comes in, is greeted by name at the size of the terminal, types, and leaves.
func TestAVisit(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{})
		k := c.enter(as{user: "mira"})
		k.sees("hello mira 80x24\r\n")
		k.typed("what is a term?\r")
		k.sees("what is a term?\r\n")
		if status := k.leaves(); status != 0 {
			t.Errorf("ssh ended with %d", status)
		}
		c.close()
	})
}

// A screen that breaks down ends its own visit, in words; the next one goes on, and the teacher knows.
func TestAPanicEndsOneVisit(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{})
		mira, bo := c.enter(as{user: "mira"}), c.enter(as{user: "bo"})
		mira.sees("hello")
		bo.sees("hello")
		mira.typed("panic\r")
		mira.sees("This screen broke down, and the class goes on")
		if status := mira.over(); status != 1 {
			t.Errorf("ssh ended with %d", status)
		}
		bo.typed("still here\r")
		bo.sees("still here")
		c.mustTell("the screen broke down: upside down")
		if r := c.Refusals(); r[0].Name != "mira" || !strings.Contains(r[0].Stack, "class_test.go") {
			t.Errorf("the teacher was told %+v", r)
		}
		bo.leaves()
		c.close()
	})
}

// When the door closes, everybody reads why.
func TestCloseEndsEveryVisit(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		c := open(t, door.Config{})
		mira, bo := c.enter(as{user: "mira"}), c.enter(as{user: "bo"})
		mira.sees("hello")
		bo.sees("hello")
		c.close()
		for _, k := range []*client{mira, bo} {
			k.sees("The class is over.\r\n")
			if status := k.over(); status != 0 {
				t.Errorf("ssh ended with %d", status)
			}
		}
		if _, err := c.dial(as{user: "late"}); err == nil {
			t.Error("somebody came in through a closed door")
		}
	})
}
