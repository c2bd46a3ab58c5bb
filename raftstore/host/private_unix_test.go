//go:build unix

package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What another user could have written, or put there, is not trusted; what only this user or
// the administrator could have, is.
func TestPrivate(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const somebody = 2001
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(err)
	at := func(name string) string { return filepath.Join(root, name) }
	dir := func(name string, mode os.FileMode) {
		must(os.MkdirAll(at(name), 0o700))
		must(os.Chmod(at(name), mode))
	}
	link := func(to, name string) { must(os.Symlink(to, at(name))) }
	for _, d := range []string{"own", "read", "group", "all", "all/in", "sticky", "sticky/in", "sticky/all", "deep", "deep/in"} {
		dir(d, 0o700)
	}
	dir("read", 0o755)
	dir("group", 0o720)
	dir("all", 0o777)
	dir("sticky", 0o777|fs.ModeSticky)
	dir("sticky/all", 0o777)
	link("own", "link")
	link(at("all"), "toall")
	link("deep/in/../../own/..", "around")
	link("loop", "loop")
	must(os.WriteFile(at("own/file"), nil, 0o600))
	must(os.WriteFile(at("own/open"), nil, 0o600))
	must(os.Chmod(at("own/open"), 0o666))
	cases := map[string]string{
		"own": "", "read": "", "own/file": "", "sticky/in": "", "link/file": "", "around/own/file": "",
		"group": "others may write", "all": "others may write", "all/in": "others may write " + at("all"), "sticky/all": "others may write",
		"own/open": "others may write", "link": "is a link", "toall/in": "others may write " + at("all"),
		"loop/in": "too many levels of symbolic links", "none": "no such file", "none/in": "no such file",
	}
	if os.Geteuid() == 0 { // only then can there be files of two users
		for _, d := range []string{"theirs", "theirs/in", "sticky/theirs"} {
			dir(d, 0o700)
		}
		link("../own", "sticky/link")
		must(os.Chown(at("theirs"), somebody, somebody))
		must(os.Chown(at("sticky/theirs"), somebody, somebody))
		must(os.Lchown(at("sticky/link"), somebody, somebody))
		for _, name := range []string{"theirs", "theirs/in", "sticky/theirs", "sticky/link/file"} {
			cases[name] = "belongs to user 2001, and you are user 0"
		}
	} else {
		cases["/usr"] = "belongs to user 0"
	}
	for name, want := range cases {
		path := name
		if !filepath.IsAbs(name) {
			path = at(name)
		}
		err := Private(path)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if want == "no such file" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v is no %v", name, err, fs.ErrNotExist)
		}
	}
}
