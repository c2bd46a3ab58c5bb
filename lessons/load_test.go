package lessons_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"kviz/lessons"
	"kviz/tui/panes"
)

// folder has one lesson, small with words replaced.
func folder(name string, replaced ...string) fstest.MapFS {
	text := strings.NewReplacer(replaced...).Replace(small)
	return fstest.MapFS{
		strings.TrimPrefix(name+"/lesson.md", "/"): {Data: []byte(text)},
	}
}

// A teacher's folder stands beside kviz' own lessons: one lesson is new, one takes the place of
// the one with its id. Scripts may use what kviz' own share.
func TestLessonsOfOnesOwn(t *testing.T) {
	own := folder("T1-own")
	own["words.sh"] = &fstest.MapFile{Data: []byte("shared() { true; }\n")}
	theirs := folder("T1-mine", "title: Small", "title: My own")
	theirs["T2-more/lesson.md"] = folder("x", "id: T1", "id: T2\nneeds: [T1]")["x/lesson.md"]
	theirs["words.sh"] = &fstest.MapFile{Data: []byte("theirs() { true; }\n")}
	theirs["README.md"] = &fstest.MapFile{Data: []byte("not a lesson\n")}

	all, err := lessons.Load(own, panes.Names(), lessons.Source{Name: "/home/ada/lessons", FS: theirs})
	if err != nil || len(all) != 2 {
		t.Fatalf("%d lessons, %v", len(all), err)
	}
	if l := all[0]; l.ID != "T1" || l.Title != "My own" || !l.Replaces || l.From != "/home/ada/lessons" {
		t.Errorf("%s %q from %q, replaces %v", l.ID, l.Title, l.From, l.Replaces)
	}
	if l := all[1]; l.ID != "T2" || l.Replaces || !strings.Contains(l.Words, "shared()") || !strings.Contains(l.Words, "theirs()") {
		t.Errorf("%s, replaces %v, words %q", l.ID, l.Replaces, l.Words)
	}
}

// A folder may be a lesson itself: what one writes at.
func TestAFolderThatIsALesson(t *testing.T) {
	all, err := lessons.Load(fstest.MapFS{}, panes.Names(), lessons.Source{Name: "T1-mine", FS: folder("")})
	if err != nil || len(all) != 1 || all[0].ID != "T1" {
		t.Fatalf("%d lessons, %v", len(all), err)
	}
	_, err = lessons.Load(fstest.MapFS{}, panes.Names(), lessons.Source{Name: "T1-mine", FS: folder("", "Do it.", "")})
	if err == nil || !strings.Contains(err.Error(), "T1-mine/lesson.md") {
		t.Errorf("a mistake is not told with its file: %v", err)
	}
	_, err = lessons.Load(fstest.MapFS{}, panes.Names(), lessons.Source{Name: "empty", FS: fstest.MapFS{}})
	if err == nil || !strings.Contains(err.Error(), "no lesson in empty") {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestWhatLessonsNeed(t *testing.T) {
	for _, c := range []struct{ needs, want string }{
		{"[T9]", `lesson T1 needs "T9", which there is not`},
		{"[T1]", "in a ring: T1, T1"},
		{"[]", ""},
	} {
		_, err := lessons.Load(folder("a", "id: T1", "id: T1\nneeds: "+c.needs), panes.Names())
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("needs %s: %v, want %q", c.needs, err, c.want)
		}
	}
}
