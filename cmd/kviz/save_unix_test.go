//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A recording is its owner's alone, also where a file was before that others may read and have open.
// What is no file of the user's making, /dev/null here, stays as it is.
func TestARecordingIsItsOwners(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	old, linked, link := filepath.Join(dir, "old"), filepath.Join(dir, "linked"), filepath.Join(dir, "link")
	for _, path := range []string{old, linked} {
		must(os.WriteFile(path, []byte("before"), 0o600))
		must(os.Chmod(path, 0o666))
	}
	must(os.Symlink(linked, link))
	eavesdropper, err := os.Open(old)
	must(err)
	defer eavesdropper.Close()
	for _, path := range []string{filepath.Join(dir, "new"), old, link} {
		f, err := createRecording(path)
		must(err)
		_, err = f.WriteString("secret")
		must(errors.Join(err, f.Close()))
		info, err := os.Stat(path)
		must(err)
		if info.Mode().Perm() != 0o600 || info.Size() != 6 {
			t.Errorf("%s is %s of %d bytes", path, info.Mode(), info.Size())
		}
	}
	if b, err := io.ReadAll(eavesdropper); err != nil || string(b) != "before" {
		t.Errorf("who had the old file open reads %q (%v)", b, err)
	}
	was, err := os.Stat(os.DevNull)
	must(err)
	f, err := createRecording(os.DevNull)
	must(err)
	must(f.Close())
	if is, err := os.Stat(os.DevNull); err != nil || is.Mode() != was.Mode() {
		t.Errorf("%s is %s, and was %s (%v)", os.DevNull, is.Mode(), was.Mode(), err)
	}
	whole := filepath.Join(dir, "whole") // casts, bundles, what checks keep
	must(writeWhole(whole, []byte("shown")))
	if info, err := os.Stat(whole); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s is %v (%v)", whole, info.Mode(), err)
	}
}
