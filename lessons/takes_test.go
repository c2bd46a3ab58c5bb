package lessons_test

import (
	"strings"
	"testing"
	"time"

	"kviz/cluster/view"
	"kviz/lessons"
)

// plays is a screen on which every beat plays so long.
type plays time.Duration

func (p plays) Prove(lessons.Look, *view.History) (time.Duration, error) {
	return time.Duration(p), nil
}
func (p plays) Cells(lessons.Look, *view.History) []string { return nil }

// How long its changes play is part of the time that a lesson takes.
func TestWhatALessonPlaysIsPlanned(t *testing.T) {
	t.Parallel()
	fast := lessons.NewTrials(1)
	fast.Fast = true
	for each, want := range map[time.Duration]string{
		20 * time.Second: "minutes: it is planned for 2, and takes 3",
		time.Second:      "",
	} {
		l := counted(t, "minutes: 5", "minutes: 2")
		err := fast.Check(t.Context(), l, bare(t.Context(), 3), plays(each))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("where each beat plays for %s it says %v; want %q", each, err, want)
		}
	}
}
