package panes

import (
	"slices"
	"testing"

	"kviz/tui/tuitest"
)

func TestEveryPaneAtEverySize(t *testing.T) { tuitest.EverySize(t, All) }

// What is made from the list needs a name of each pane, and words about it.
func TestPanesTellWhatTheyAre(t *testing.T) {
	var seen []string
	for _, make := range All {
		info := make().Info()
		if info.Name == "" || info.Title == "" || len(info.Means) < 60 {
			t.Errorf("pane %q, title %q says too little of itself: it means %q, which should be 60 characters or more", info.Name, info.Title, info.Means)
		}
		if slices.Contains(seen, info.Name) {
			t.Errorf("two panes are called %q", info.Name)
		}
		seen = append(seen, info.Name)
		for _, b := range info.Keys {
			if b.Words() == "" || b.Means == "" {
				t.Errorf("pane %s: the key of %s lacks words", info.Name, b.Action)
			}
		}
	}
}
