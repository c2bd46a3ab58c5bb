package lessons

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Files are the files of a lesson's folder, in their order, but not what editors and file managers
// leave there.
func Files(fsys fs.FS, dir string) ([]string, error) {
	var all []string
	err := fs.WalkDir(fsys, dir, func(name string, e fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case name != dir && (strings.HasPrefix(base, ".") || strings.HasSuffix(base, "~") || strings.HasPrefix(base, "#")):
			if e.IsDir() {
				return fs.SkipDir
			}
		case !e.IsDir():
			all = append(all, name)
		}
		return nil
	})
	return all, err
}

// Digest tells whether anything in a lesson's folder has changed: names and contents of its files.
func Digest(fsys fs.FS, dir string) (string, error) {
	names, err := Files(fsys, dir)
	if err != nil {
		return "", fmt.Errorf("lesson %s: %w", dir, err)
	}
	sum := sha256.New()
	for _, name := range names {
		b, err := fs.ReadFile(fsys, name)
		if err != nil {
			return "", fmt.Errorf("lesson %s: %w", dir, err)
		}
		rel := strings.TrimPrefix(name, dir+"/")
		fmt.Fprintf(sum, "%d %s %d\n", len(rel), rel, len(b))
		sum.Write(b)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
