// Command release packs one program for one system: the binary, the licences of what is
// in it, and what else is given, in an archive that is the same whoever makes it.
//
//	release -version v1.2 -time 1700000000 -target linux/amd64 -binary kviz -extra DIR -out dist
//
// Run it in the module's root. It prints the archive's checksum as sha256sum does.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run() error {
	version := flag.String("version", "", "of the release")
	seconds := flag.Int64("time", 0, "the files' time, in seconds since 1970")
	target := flag.String("target", "", "GOOS/GOARCH")
	binary := flag.String("binary", "", "the program")
	extra := flag.String("extra", "", "a folder whose files go along")
	out := flag.String("out", "dist", "where the archive goes")
	flag.Parse()
	goos, arch, ok := strings.Cut(*target, "/")
	if !ok {
		return fmt.Errorf("-target: %q is not GOOS/GOARCH", *target)
	}
	files, err := licences(goos, arch, "./cmd/kviz")
	if err != nil {
		return err
	}
	name := "kviz"
	if goos == "windows" {
		name += ".exe"
	}
	for to, from := range map[string]string{name: *binary, "LICENSE": "LICENSE", "README.md": "README.md"} {
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		files = append(files, file{name: to, text: text, program: to == name})
	}
	more, err := folder(*extra)
	if err != nil {
		return err
	}
	title := fmt.Sprintf("kviz_%s_%s_%s", *version, goos, arch)
	archive, err := pack(goos, title, append(files, more...), time.Unix(*seconds, 0).UTC())
	if err != nil {
		return err
	}
	at := filepath.Join(*out, title+suffix(goos))
	if err := os.WriteFile(at, archive, 0o644); err != nil {
		return err
	}
	fmt.Printf("%x  %s\n", sha256.Sum256(archive), filepath.Base(at))
	return nil
}

// folder reads all files below a folder.
func folder(root string) (files []file, err error) {
	if root == "" {
		return nil, nil
	}
	err = filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, at)
		files = append(files, file{name: path.Clean(filepath.ToSlash(rel)), text: text})
		return err
	})
	return files, err
}
