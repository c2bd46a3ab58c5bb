package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/trace"
	"kviz/tui/overlay"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// OpenRecording is what [Run] ends with when the person chose to open a
// recording instead: the caller shows it ([Config.Recording]).
type OpenRecording struct{ Path string }

func (e *OpenRecording) Error() string { return "open the recording " + e.Path }

// recordingList lists the recordings that lie where the program was started.
func (m *Explorer) recordingList() overlay.Overlay {
	p := &overlay.Picker{
		Title: "Open a recording", Search: true,
		Intro: "The cluster that runs now is left. kviz explore --trace FILE and kviz run --trace FILE write recordings.",
	}
	for _, path := range m.cfg.Recordings() {
		r, err := trace.Open(path)
		it := overlay.Item{Label: filepath.Base(path), Value: openRecording(path)}
		if err != nil {
			it.Off = err.Error()
		} else {
			it.Note = aboutRecording(path, r.Header())
			_ = r.Close() // it was only looked at
		}
		p.Items = append(p.Items, it)
	}
	p.Items = append(p.Items, overlay.Item{Label: "Another file …", Style: theme.Muted, Value: askRecording{}})
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

// openRecording leaves for a recording, if it is one.
func (m *Explorer) openRecording(path string) tea.Cmd {
	r, err := trace.Open(path)
	if err != nil {
		m.prompt(promptRecording, "Open a recording", recordingIntro, path)
		m.prompts[promptRecording].Error = err.Error()
		return nil
	}
	_ = r.Close() // whoever shows it reads it again
	m.leaveFor = path
	return tea.Quit
}

const recordingIntro = "The path of a file that kviz explore --trace or kviz run --trace wrote."
