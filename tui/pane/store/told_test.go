package store

import (
	"strings"
	"testing"

	"kviz/tui/grid"
	"kviz/tui/pane"
)

// What an entry and a link say is made when the cursor comes to them, and is of the moment that is drawn.
func TestEntriesAndLinksAreToldUnderTheCursor(t *testing.T) {
	h := led(3).History()
	host := pane.NewHost(New(), "2")
	for id, want := range map[string]string{
		"entry/b/6": "Entry 6 of term 1 (command, ",
		"entry/a/1": "Entry 1 of term 1 (",
		"link/a-b":  "Between a and b; the last message: ",
	} {
		host.Put(id)
		host.Draw(grid.New(120, 33), grid.Rect{W: 120, H: 33}, pane.Frame{S: h.Latest(), H: h, Focused: true, Live: true})
		on := host.Under()
		if on.ID != id || !strings.HasPrefix(on.Words, want) {
			t.Errorf("%s: under the cursor is %q, which says %q", id, on.ID, on.Words)
		}
		if again := host.Under(); again.Words != on.Words {
			t.Errorf("%s: asked again it says %q", id, again.Words)
		}
	}
}
