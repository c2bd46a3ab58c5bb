// Package link has the links that people send one another: a line of text, or a small file with that line, which leads
// to a beat of a lesson or to an event of a recording on another machine.
//
//	L09@3#crash          a beat of a lesson, in the version of the lesson that the link was made with
//	run.kvrun#8841.11    an event of a recording, by its file
//	run:7f3c#8841.11     an event of a run that a class shares
//
// A link may come from anybody: it is short, and of nothing but what it needs. Start reading at [Parse].
package link

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"kviz/cluster/trace"
)

// Link is where a link leads: one of Lesson, File and Run is set.
type Link struct {
	Lesson  string
	Version int    // of the lesson; 0 where it is not said
	Beat    string // "" is the lesson from its beginning

	File  string   // a recording
	Run   string   // a run that a class shares
	Event trace.ID // of File or Run; zero is their beginning
}

// Ending is how the names of recordings end.
const Ending = ".kvrun"

// Most is how many bytes a link, and a file that has one, has at most.
const Most = 4096

var (
	lessonForm = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9]*)(?:@([0-9]{1,6}))?(?:#([a-z0-9-]+))?$`)
	runForm    = regexp.MustCompile(`^[A-Za-z0-9-]{1,40}$`)
)

// Parse reads a link: the first line of a text that is not blank and no comment (#).
func Parse(text string) (Link, error) {
	if len(text) > Most {
		return Link{}, fmt.Errorf("a link has at most %d bytes", Most)
	}
	line := ""
	for _, one := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		if one = strings.TrimSpace(one); one != "" && !strings.HasPrefix(one, "#") {
			line = one
			break
		}
	}
	switch {
	case line == "":
		return Link{}, errors.New("there is no link")
	case strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }):
		return Link{}, fmt.Errorf("%q is no link: it has signs that nobody sees", line)
	}
	if run, is := strings.CutPrefix(line, "run:"); is {
		name, at, _ := strings.Cut(run, "#")
		id, err := trace.ParseID(at)
		if !runForm.MatchString(name) || err != nil {
			return Link{}, fmt.Errorf("%q is no link: want run:NAME#EVENT, such as run:7f3c#8841", line)
		}
		return Link{Run: name, Event: id}, nil
	}
	if strings.HasSuffix(line, Ending) {
		return Link{File: line}, nil
	}
	if i := strings.LastIndex(line, Ending+"#"); i >= 0 {
		id, err := trace.ParseID(line[i+len(Ending)+1:])
		if err != nil {
			return Link{}, err
		}
		return Link{File: line[:i+len(Ending)], Event: id}, nil
	}
	m := lessonForm.FindStringSubmatch(line)
	if m == nil {
		return Link{}, fmt.Errorf("%q is no link: want a beat, such as L09@3#crash, or an event of a recording, such as run.kvrun#8841", line)
	}
	version, _ := strconv.Atoi(m[2]) // six digits at most
	return Link{Lesson: m[1], Version: version, Beat: m[3]}, nil
}

// String is the link as it is sent.
func (l Link) String() string {
	at := ""
	switch {
	case l.Lesson != "" && l.Beat != "":
		at = "#" + l.Beat
	case !l.Event.IsZero():
		at = "#" + l.Event.String()
	}
	switch {
	case l.Run != "":
		return "run:" + l.Run + at
	case l.File != "":
		return l.File + at
	case l.Version > 0:
		return fmt.Sprintf("%s@%d%s", l.Lesson, l.Version, at)
	}
	return l.Lesson + at
}
