package tui

import (
	"runtime"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// Where kviz cannot be suspended ctrl+z says why; it is never silent.
func TestSuspending(t *testing.T) {
	for _, c := range []struct {
		remote bool
		system string
		says   string
	}{
		{false, "linux", ""},
		{false, "darwin", ""},
		{false, "windows", "Windows"},
		{true, "linux", "only a terminal of this machine"},
		{true, "windows", "only a terminal of this machine"},
	} {
		if got := cannotSuspend(c.remote, c.system); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("remote %v on %s: %q, want %q", c.remote, c.system, got, c.says)
		}
	}
	for remote, suspends := range map[bool]bool{false: runtime.GOOS != "windows", true: false} {
		d := explore(t, 120, 40, -1, func(cfg *Config) { cfg.Remote = remote })
		cmd := d.m.key(tea.KeyPressMsg{Code: 'z', Mod: tea.ModCtrl})
		suspended := false
		if cmd != nil {
			_, suspended = cmd().(tea.SuspendMsg)
		}
		if suspended != suspends {
			t.Errorf("remote %v: ctrl+z suspends: %v", remote, suspended)
		}
	}
}
