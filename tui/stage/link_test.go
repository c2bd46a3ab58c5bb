package stage_test

import (
	"testing"

	"kviz/tui/action"
)

// Both keys copy a link to the beat on the stage.
func TestALinkToTheBeat(t *testing.T) {
	p := begin(t, aWrite("a"))
	p.runs()
	for _, key := range []string{"c", "Y"} {
		if does := p.press(key); does != (action.Link{To: "L50@1#members"}) {
			t.Errorf("%s does %#v", key, does)
		}
	}
}
