package durable

import (
	"os"
	"path/filepath"
	"testing"
)

// Whatever stands in the way: the file is what it was, or what it is now.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "group.json")
	holds := func(want string) {
		t.Helper()
		if data, err := os.ReadFile(path); string(data) != want || err != nil {
			t.Errorf("the file holds %q, not %q (%v)", data, want, err)
		}
	}
	for _, sync := range []bool{true, false} {
		if err := Replace(path, []byte("first"), sync); err != nil {
			t.Fatal(err)
		}
		holds("first")
		// A process died in the middle, with more than there is to write now.
		if err := os.WriteFile(path+".new", []byte("half of something longer"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Replace(path, []byte("second"), sync); err != nil {
			t.Fatal(err)
		}
		holds("second")
		if _, err := os.Stat(path + ".new"); !os.IsNotExist(err) {
			t.Errorf("left behind: %v", err)
		}
		if err := os.Mkdir(path+".new", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := Replace(path, []byte("third"), sync); err == nil {
			t.Error("written over a folder")
		}
		holds("second")
		if err := os.Remove(path + ".new"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDirNamesTheFolder(t *testing.T) {
	dir := t.TempDir()
	if err := Dir(dir); err != nil {
		t.Error(err)
	}
	if err := Dir(dir, filepath.Join(dir, "gone")); !os.IsNotExist(err) {
		t.Errorf("a folder that is not there: %v", err)
	}
}
