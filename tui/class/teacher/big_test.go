package teacher

import (
	"strings"
	"testing"

	"kviz/tui/grid"
)

func TestBigWords(t *testing.T) {
	got := strings.Join(big("Term 3", 80), "\n")
	want := strings.Join([]string{
		"▀▀██▀▀  ██▀▀▀▀  ██▀▀▄▄  ██▄▄  ▄▄██        ▀▀▀▀██",
		"  ██    ██▀▀    ██▀▀▄▄  ██  ▀▀  ██          ▀▀██",
		"  ▀▀    ▀▀▀▀▀▀  ▀▀  ▀▀  ▀▀      ▀▀        ▀▀▀▀▀▀",
	}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if rows := big("NO LEADER", 80); rows == nil || grid.Width(rows[0]) > 80 {
		t.Errorf("NO LEADER does not fit 80 columns: %q", rows)
	}
	if rows := big("TWELVE CHARS", 80); rows == nil || grid.Width(rows[0]) > 80 {
		t.Errorf("twelve characters do not fit 80 columns: %q", rows)
	}
	if rows := big("π", 80); rows != nil {
		t.Errorf("π has no glyph: %q", rows)
	}
	for r, g := range glyphs {
		for _, line := range g {
			if len(line) != len(g[0]) || strings.Trim(line, ".#") != "" {
				t.Errorf("%c: %q", r, g)
			}
		}
	}
}
