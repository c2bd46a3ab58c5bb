package member

import (
	"errors"
	"testing"
	"time"

	"kviz/raftstore/steady"
)

// Whoever hears that the disk is full may ask about the disk: no lock of the disk's is held
// while it is told.
func TestWhoHearsOfAFullDiskMayAskAboutIt(t *testing.T) {
	m := &Member{}
	heard := make(chan bool, 2)
	m.cfg.Changed, m.cfg.ComeBack = func() {}, func(string) {}
	m.cfg.Emit = func(e Event) {
		if e.Kind == KindRoom {
			m.outOfRoom()
			heard <- e.Room.Full
		}
	}
	go func() {
		m.FillDisk(true)
		m.refused(errors.New("no space left on device"))
		m.FillDisk(false)
	}()
	for _, full := range []bool{true, false} {
		select {
		case got := <-heard:
			if got != full {
				t.Fatalf("full: %v, want %v", got, full)
			}
		case <-time.After(steady.Patience(t)):
			t.Fatal("whoever hears of it waits for ever")
		}
	}
}
