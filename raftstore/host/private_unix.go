//go:build unix

package host

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many links a path may go through, as in Linux.
const maxLinks = 40

func private(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := held(filepath.Dir(path)); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	switch uid := ownerID(info); {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a link", path)
	case uid != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, and you are user %d", path, uid, os.Geteuid())
	}
	return closed(path, info)
}

// held says why somebody else could put something else in place of what is in a folder, or in
// place of the folder itself: no folder on the way, through links as the system follows them, may
// be another user's or one that others write, except one like /tmp, where only its owner
// removes a file.
func held(dir string) error {
	at, links := "/", 0
	for rest := append([]string{"."}, strings.Split(dir, "/")...); len(rest) > 0; {
		next := filepath.Join(at, rest[0]) // of ".." too: at is free of links
		rest = rest[1:]
		info, err := os.Lstat(next)
		if err != nil {
			return err
		}
		if uid := ownerID(info); uid != 0 && uid != os.Geteuid() {
			return fmt.Errorf("%s belongs to user %d, and you are user %d", next, uid, os.Geteuid())
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if err := closed(next, info); err != nil && info.Mode()&fs.ModeSticky == 0 {
				return err
			}
			at = next
			continue
		}
		if links++; links > maxLinks {
			return &fs.PathError{Op: "lstat", Path: dir, Err: syscall.ELOOP}
		}
		to, err := os.Readlink(next)
		if err != nil {
			return err
		}
		if filepath.IsAbs(to) {
			at = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return nil
}

// closed says whether others than its owner may write.
func closed(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("others may write %s (%s)", path, info.Mode())
	}
	return nil
}

func ownerID(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
