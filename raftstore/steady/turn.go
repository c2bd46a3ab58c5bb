package steady

import (
	"os"
	"path/filepath"
	"testing"
)

// RealTime says why a test needs the real machine, and waits for its turn on it: of all tests of
// this user that call it, in whichever package, one runs at a time. The turn ends with the
// test and its subtests. cmd/kviz's TestWhatNeedsRealTime lists where such tests are.
func RealTime(t testing.TB, why string) {
	t.Helper()
	if why == "" {
		t.Fatal("a test in real time says why")
	}
	f, err := os.OpenFile(filepath.Join(os.TempDir(), turnFile()), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatalf("a turn on the machine: %v", err)
	}
	if err := lock(f); err != nil {
		f.Close()
		t.Fatalf("a turn on the machine: %v", err)
	}
	t.Cleanup(func() { f.Close() }) // which ends the turn
}
