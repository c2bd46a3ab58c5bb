package menu

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"kviz/cluster/trace"
	"kviz/tui/action"
	"kviz/tui/overlay"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// Recordings lists recordings by their paths.
func Recordings(paths []string) overlay.Overlay {
	p := &overlay.Picker{
		Title: "Open a recording", Search: true,
		Intro: "The cluster that runs now is left. kviz explore --trace FILE and kviz run --trace FILE write recordings.",
	}
	for _, path := range paths {
		r, err := trace.Open(path)
		it := overlay.Item{Label: filepath.Base(path), Do: action.Recording(path)}
		if err != nil {
			it.Off = err.Error()
		} else {
			it.Note = aboutRecording(path, r.Header())
			_ = r.Close() // it was only looked at
		}
		p.Items = append(p.Items, it)
	}
	p.Items = append(p.Items, overlay.Item{Label: "Another file …", Style: theme.Muted, Do: AskRecording})
	return p
}

func aboutRecording(path string, h trace.Header) string {
	about := fmt.Sprintf("seed %d, %s", h.Seed, words.Count(h.Nodes, "node"))
	if len(h.Inputs) > 0 {
		about += ", " + strings.Join(h.Inputs, " ")
	}
	if st, err := os.Stat(path); err == nil {
		about = st.ModTime().Format("2 Jan 15:04") + ", " + words.Bytes(int(st.Size())) + ", " + about
	}
	return about
}

// AskSave asks for the path of a recording that is to be written.
var AskSave = action.Prompt{
	For: action.ForSave, Title: "Save a recording", Text: "run.kvrun",
	Intro: "A new file for the run as far as memory holds it; kviz replay opens it, and F goes on from there. kviz ends when it is written.",
}

// AskSaveRun asks for the path of a recording of a run; the explorer stays.
func AskSaveRun(name string) action.Prompt {
	return action.Prompt{
		For: action.ForSaveRun, Title: "Save " + name + " as a recording", Text: strings.ReplaceAll(name, " ", "-") + ".kvrun", Of: name,
		Intro: "A new file for the run as far as memory holds it; kviz replay opens it, and F goes on from there.",
	}
}

// AskRecording asks for the path of a recording.
var AskRecording = action.Prompt{
	For: action.ForRecording, Title: "Open a recording", Intro: "The path of a file that kviz explore --trace or kviz run --trace wrote.",
}
