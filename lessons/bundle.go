package lessons

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// Bundle is what a bundle says of itself: one file with a lesson in it, for others. It is a zip with
// the files of the lesson's folder and this beside them.
type Bundle struct {
	Format  int    `json:"format"`
	ID      string `json:"id"`
	Title   string `json:"title"`
	Version int    `json:"version"`
	Digest  string `json:"digest"` // of the lesson's files
	Kviz    string `json:"kviz"`   // the version of kviz with which it was proven
	Whole   bool   `json:"whole"`  // all of it was proven, by running it; else its text alone
}

// bundleFile is where a bundle says what it is.
const bundleFile = "bundle.json"

// bundleFormat is the version of bundles that this kviz writes, and the newest that it opens.
const bundleFormat = 1

// The most that a bundle may have: it comes from somebody whom the learner need not know.
const (
	MostBundle  = 32 << 20 // bytes of the file
	mostFiles   = 300
	mostFile    = 16 << 20 // bytes of one file, unpacked
	mostUnpacks = 48 << 20 // of all
)

// WriteBundle writes a bundle of the lesson in a folder, with more files beside its own; what it says
// of itself is completed with the digest.
func WriteBundle(w io.Writer, fsys fs.FS, about Bundle, more map[string][]byte) error {
	names, err := Files(fsys, ".")
	if err != nil {
		return err
	}
	about.Format = bundleFormat
	if about.Digest, err = Digest(fsys, "."); err != nil {
		return err
	}
	said, err := json.MarshalIndent(about, "", "  ")
	if err != nil {
		return err
	}
	z := zip.NewWriter(w)
	add := func(name string, content []byte) error {
		// A bundle of the same lesson is the same file, whenever it is made.
		f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
		if err == nil {
			_, err = f.Write(content)
		}
		return err
	}
	if err := add(bundleFile, said); err != nil {
		return err
	}
	for _, name := range names {
		b, err := fs.ReadFile(fsys, name)
		if err == nil {
			err = add(name, b)
		}
		if err != nil {
			return fmt.Errorf("bundle: %s: %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		if err := add(beside+name, more[name]); err != nil {
			return fmt.Errorf("bundle: %s: %w", name, err)
		}
	}
	return z.Close()
}

// beside is the folder of a bundle for what is no file of the lesson's own.
const beside = ".kviz/"

// OpenBundle opens a bundle, read-only. It is refused as a whole where a name in it leads out of it, where it has
// anything but files, is larger than a lesson has reason to be, or is not what it says of itself.
func OpenBundle(name string, packed []byte) (Source, Bundle, error) {
	from := Source{Name: name, Bundled: true}
	fail := func(format string, args ...any) (Source, Bundle, error) {
		return Source{}, Bundle{}, fmt.Errorf("bundle "+name+": "+format, args...)
	}
	if len(packed) > MostBundle {
		return fail("it has %d MiB; a lesson has %d at most", len(packed)>>20, MostBundle>>20)
	}
	z, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return fail("it is no bundle: %w", err)
	}
	if len(z.File) > mostFiles {
		return fail("it has %d files; a lesson has %d at most", len(z.File), mostFiles)
	}
	files := tree{}
	total := 0
	for _, f := range z.File {
		switch {
		case strings.HasSuffix(f.Name, "/") && fs.ValidPath(strings.TrimSuffix(f.Name, "/")) && f.Mode().IsDir():
			continue
		case !fs.ValidPath(f.Name) || f.Name == "." || strings.ContainsAny(f.Name, "\\:\x00"):
			return fail("the name %q leads out of it", f.Name)
		case !f.Mode().IsRegular():
			return fail("%s is no file (%s)", f.Name, f.Mode().Type())
		case files[f.Name] != nil:
			return fail("%s is there twice", f.Name)
		}
		content, err := unpack(f)
		if err != nil {
			return fail("%s: %w", f.Name, err)
		}
		if total += len(content); total > mostUnpacks {
			return fail("it unpacks to more than %d MiB", mostUnpacks>>20)
		}
		files[f.Name] = content
	}
	var about Bundle
	if err := json.Unmarshal(files[bundleFile], &about); err != nil {
		return fail("it does not say what it is (%s): %w", bundleFile, err)
	}
	if about.Format < 1 || about.Format > bundleFormat {
		return fail("it has format %d; this kviz opens formats 1 to %d", about.Format, bundleFormat)
	}
	delete(files, bundleFile)
	if from.FS, err = files.open(); err != nil {
		return fail("%w", err)
	}
	digest, err := Digest(from.FS, ".")
	if err != nil {
		return fail("%w", err)
	}
	if digest != about.Digest {
		return fail("its files are not those that were bundled: their digest is %.12s…, it says %.12s…", digest, about.Digest)
	}
	return from, about, nil
}

// unpack reads one file, whatever it says of its size.
func unpack(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, mostFile+1))
	if err == nil && len(b) > mostFile {
		return nil, fmt.Errorf("it unpacks to more than %d MiB", mostFile>>20)
	}
	return append([]byte{}, b...), err
}

// tree are files by their names.
type tree map[string][]byte

// open gives them as a file system: a zip again, in memory, whose names were looked at.
func (t tree) open() (fs.FS, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(t)) {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = f.Write(t[name])
		}
		if err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
}

// BundleNames are how the name of a bundle ends.
const BundleNames = ".kvlesson"

// IsBundle reports whether a name is that of a bundle.
func IsBundle(name string) bool { return path.Ext(name) == BundleNames }
