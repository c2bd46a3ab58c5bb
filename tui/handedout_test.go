package tui

import (
	"context"
	"errors"
	"testing"
)

// The list of lessons copies a link to the one under the cursor, and writes it for taking home.
func TestALessonToSendAndToTakeHome(t *testing.T) {
	asked, fails := "", error(nil)
	d := explore(t, 120, 40, -1, func(c *Config) {
		c.Lessons = &oneLesson{}
		c.Handout = func(_ context.Context, lesson string) (string, error) { asked = lesson; return "healing.html", fails }
	})
	d.press("L", "c").shows("copied healing; kviz open goes there")
	d.press("h").shows("writes the handout of healing").settle().shows("the handout of healing is in healing.html")
	if asked != "healing" {
		t.Errorf("what is written is %q", asked)
	}
	fails = errors.New("the disk is full")
	d.press("h").settle().shows("the handout of healing: the disk is full")

	d = explore(t, 120, 40, -1, func(c *Config) { c.Lessons = &oneLesson{} })
	d.press("L", "h").shows("kviz lesson handout healing -o FILE")
}
