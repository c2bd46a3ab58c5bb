package stdio

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// What a terminal in raw mode, as kubectl's is, sends for these keys.
const (
	ctrlC     = 0x03
	ctrlD     = 0x04
	backspace = 0x08
	rubout    = 0x7f
)

// Terminal is the end of a pseudo-terminal that a process has: it shows what is typed,
// gives whole lines to the process, and makes a signal of ctrl+C.
type Terminal struct {
	// Lines are what was typed.
	Lines *Input
	// Interrupt is SIGINT to what runs in the foreground; nil: nobody minds.
	Interrupt func()

	screen io.Writer
	line   []byte
}

// NewTerminal makes a terminal with a screen.
func NewTerminal(screen io.Writer) *Terminal {
	return &Terminal{Lines: NewInput(nil), screen: orDiscard(screen)}
}

// Write shows what the process writes.
func (t *Terminal) Write(b []byte) (int, error) {
	_, err := t.screen.Write(bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")))
	return len(b), err
}

// Take is [Input.To] of the keys.
func (t *Terminal) Take(keys []byte, ended bool) {
	t.Type(keys)
	if ended {
		t.Lines.End(nil)
	}
}

// Type takes keys.
func (t *Terminal) Type(keys []byte) {
	for _, key := range keys {
		switch {
		case key == ctrlD && len(t.line) == 0:
			t.Lines.End(nil)
		case key == '\r' || key == '\n':
			t.show("\r\n")
			t.Lines.Feed(append(t.line, '\n'))
			t.line = nil
		case key == ctrlC:
			t.show("^C\r\n")
			t.line = nil
			if t.Interrupt != nil {
				t.Interrupt()
			}
		case key == rubout || key == backspace:
			if len(t.line) > 0 {
				_, size := utf8.DecodeLastRune(t.line)
				t.line = t.line[:len(t.line)-size]
				t.show("\b \b")
			}
		case key >= ' ':
			t.line = append(t.line, key)
			_, _ = t.screen.Write([]byte{key})
		}
	}
}

func (t *Terminal) show(text string) { _, _ = io.WriteString(t.screen, text) }
