package tui

import (
	"fmt"
	"slices"
	"testing"

	"kviz/tui/layout"
	"kviz/tui/tuitest"
)

// paneNames are the panes that are on the screen.
func (d *driver) paneNames() []string {
	d.m.View()
	var names []string
	for _, s := range d.m.frame.Layout().Slots {
		names = append(names, s.Pane)
	}
	return names
}

// The console is a drawer: four rows at rest, more for what is printed, never all; the first
// esc leaves it, the second closes it, whatever else could be taken back. No pane goes for it
// and no lesson, and the map keeps a form that shows the cluster.
func TestTheConsoleIsADrawer(t *testing.T) {
	for _, size := range [][2]int{{60, 18}, {80, 24}, {100, 30}, {120, 40}, {200, 60}} {
		for _, preset := range layout.Presets {
			for _, lesson := range []bool{false, true} {
				name := fmt.Sprintf("%dx%d, %s, lesson %v", size[0], size[1], preset.Name, lesson)
				d := explore(t, size[0], size[1], -1, func(c *Config) {
					c.Preset = preset.Name
					if lesson {
						c.Lessons, c.Lesson = &oneLesson{}, "healing"
					}
				})
				if lesson && d.m.lesson.Large(size[0]) {
					d.press("L")
				}
				panes := d.paneNames()
				d.press(":")
				at := func(when string, least, most int) {
					t.Helper()
					now := d.paneNames()
					l := d.m.frame.Layout()
					if h := l.Console.H; h < least || h > most {
						t.Errorf("%s: %s the drawer has %d rows, want %d to %d", name, when, h, least, most)
					}
					if !slices.Equal(now, panes) {
						t.Errorf("%s: %s the panes are %v, without it %v", name, when, now, panes)
					}
					for _, s := range l.Slots {
						if s.Rect.H < 3 || s.Pane == "map" && size[1] >= 24 && !lesson && s.Rect.H < 7 {
							t.Errorf("%s: %s pane %s has %d rows", name, when, s.Pane, s.Rect.H)
						}
					}
					if lesson && l.Lesson.H < 5 {
						t.Errorf("%s: %s the lesson has %d rows", name, when, l.Lesson.H)
					}
				}
				at("open", layout.Rest, layout.Rest)
				d.typed("kubectl get pods -A").press("enter")
				d.m.safe.Wait()
				d.look()
				at("with output", layout.Rest, max(size[1]/2, layout.Rest))
				d.press("pgup")
				at("reading back", layout.Rest, size[1]/2)
				if size[1] >= 40 && d.m.frame.Layout().Console.H <= layout.Rest {
					t.Errorf("%s: the drawer does not grow", name)
				}
				d.press("esc", "z") // which another esc would take back
				d.m.View()
				if h := d.m.frame.Layout().Console.H; h != layout.Rest {
					t.Errorf("%s: left, the drawer has %d rows", name, h)
				}
				d.press("esc")
				if d.m.drawer.Shown() || !d.m.frame.Back() {
					t.Errorf("%s: the second esc does not close the drawer, or not it alone", name)
				}
			}
		}
	}
}

// What the drawer looks like at rest, while it is typed into, and above a lesson.
func TestTheDrawerOnTheScreen(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		d := explore(t, size[0], size[1], -1, func(c *Config) { c.Preset = "" }).press(":").typed("kubectl get pods -A").press("enter")
		d.m.safe.Wait()
		d.look()
		d.shows("CrashLoopBackOff   3", "you")
		tuitest.Golden(t, fmt.Sprintf("%dx%d-drawer", size[0], size[1]), d.planes())
		d.press("esc")
		d.shows("coredns-5d7      1/1", "you")
		d.hides("CrashLoopBackOff   3")
		tuitest.Golden(t, fmt.Sprintf("%dx%d-drawer-rest", size[0], size[1]), d.planes())

		l := explore(t, size[0], size[1], -1, func(c *Config) { c.Preset, c.Lessons, c.Lesson = "", &oneLesson{}, "healing" })
		l.press(":").typed("kubectl get pods -A").press("enter")
		l.m.safe.Wait()
		l.look()
		l.shows("Who brings the pod", "coredns-5d7")
		tuitest.Golden(t, fmt.Sprintf("%dx%d-drawer-lesson", size[0], size[1]), l.planes())
	}
}

// With another pane below it the map stays too where there was room for both.
func TestTheMapStaysAboveAPaneAndTheDrawer(t *testing.T) {
	d := explore(t, 120, 40, -1, func(c *Config) { c.Preset = "" }).press("4", ":")
	d.shows("Console", "4 Events", "1 Cluster")
	d.typed("kubectl get pods -A").press("enter", "pgup")
	d.shows("4 Events", "1 Cluster")
}
