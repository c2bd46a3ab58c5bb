//go:build unix

package remote_test

import (
	"syscall"
	"testing"
	"time"
)

func TestAProcessThatStandsStill(t *testing.T) {
	f := newFarm(t, "a", "b", "c")
	s, _ := f.driver()
	f.put(s, "x", "1")
	// One member's process stands still, as by Ctrl-Z: it is taken for dead, and back
	// when it goes on.
	leader := f.leader(s)
	f.mu.Lock()
	p := f.procs[leader].cmd.Process
	f.mu.Unlock()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	f.put(s, "x", "2")
	t.Logf("the next put was acknowledged %v after the leader's process stood still", time.Since(began))
	if err := p.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	f.put(s, "x", "3")
	f.eventually("all are back", s.Whole)
	f.equal(s)
}
