package apipipe

import (
	"testing"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// The pane at moments of the story that its package tells, and at every size.
func TestPane(t *testing.T) {
	tuitest.Frames(t, func() pane.Pane { return New() },
		tuitest.Case{Name: "stage", W: 76, H: 30, Kind: trace.RequestStage, N: 60},
		tuitest.Case{Name: "refused", W: 110, H: 36, Moves: []string{keymap.Down, keymap.Down, keymap.Down, keymap.Down}},
	)
}

// What the pane says of a file that is not what is in force.
func TestUnreadFile(t *testing.T) {
	one, two := &trace.Encryption{Hash: "1"}, &trace.Encryption{Hash: "2"}
	watched := &trace.Encryption{Hash: "1", Reload: true}
	for _, c := range []struct {
		written, loaded *trace.Encryption
		want            string
	}{
		{nil, nil, ""},
		{one, one, ""},
		{one, nil, "The file was changed; the API server has not read it yet: it does when it starts."},
		{two, one, "The file was changed; the API server has not read it yet: it does when it starts."},
		{two, watched, "The file was changed; the API server has not read it yet: it looks every minute."},
		{nil, one, "The file was removed; what is above is in force until the API server starts again."},
		{nil, watched, "The file was removed; what is above is in force until the API server starts again."},
	} {
		if got := unread(&view.Encryption{Written: c.written, Loaded: c.loaded}); got != c.want {
			t.Errorf("written %v, in force %v: %q, want %q", c.written, c.loaded, got, c.want)
		}
	}
}
