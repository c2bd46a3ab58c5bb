// Package folder is files by their paths, kept in memory: the bytes of what in a real cluster
// is a filesystem on some disk. A container has one of its own, an emptyDir is one, and so is
// each disk of the storage driver. How much fits is bounded, so that no program that writes
// files takes the memory of everybody.
//
// Symbolic links are kept, and followed by the reader, who knows which paths there are. Files
// have no owners, modes or times, and empty folders do not exist. Start reading at
// [Folder.Write].
package folder

import (
	"errors"
	"sort"
)

// Most is how many bytes a folder can hold.
const Most = 16 << 20

// perFile is what a file takes beside its name and text, as an inode does. It bounds how many there are to go through.
const perFile = 1 << 10

var (
	// ErrNoSpace is ENOSPC.
	ErrNoSpace = errors.New("No space left on device") //nolint:staticcheck // the C library's words
	// ErrReadOnly is EROFS.
	ErrReadOnly = errors.New("Read-only file system") //nolint:staticcheck // likewise
	// ErrIO is EIO.
	ErrIO = errors.New("I/O error") //nolint:staticcheck // likewise
)

// Folder is files by their path within it, and what they come to.
type Folder struct {
	files map[string]file
	held  int
	limit int
	pool  *Pool
	gone  bool
}

// file is a file, or a symbolic link, whose text is the path that it leads to.
type file struct {
	text string
	link bool
}

// Pool is room that several folders share; nil is room without a bound.
type Pool struct{ free int }

// NewPool makes a pool of so many bytes.
func NewPool(bytes int) *Pool { return &Pool{bytes} }

// New makes an empty folder for Most bytes.
func New() *Folder { return In(nil) }

// In makes an empty folder that takes its room from a pool, too.
func In(p *Pool) *Folder { return &Folder{files: map[string]file{}, limit: Most, pool: p} }

// Len is how many files there are.
func (f *Folder) Len() int { return len(f.files) }

// Held is what they come to.
func (f *Folder) Held() int { return f.held }

// Limit is how many bytes fit.
func (f *Folder) Limit() int { return f.limit }

// SetLimit changes how many bytes fit: at most Most. What is there stays.
func (f *Folder) SetLimit(bytes int64) { f.limit = int(min(max(bytes, 0), Most)) }

// Read gives a file. A symbolic link is not there.
func (f *Folder) Read(name string) (text string, there bool) {
	is, there := f.files[name]
	return is.text, there && !is.link
}

// Target is where a symbolic link leads, as it was written; false where the name is not one's.
func (f *Folder) Target(name string) (path string, is bool) {
	at := f.files[name]
	return at.text, at.link
}

// Names are the names of the files, sorted.
func (f *Folder) Names() []string {
	names := make([]string, 0, len(f.files))
	for name := range f.files {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Write writes a file whole, if there is room for it beside the one that it replaces.
func (f *Folder) Write(name, text string) error { return f.write(name, file{text: text}) }

// Link writes a symbolic link, as Write writes a file.
func (f *Folder) Link(name, target string) error {
	return f.write(name, file{text: target, link: true})
}

func (f *Folder) write(name string, is file) error {
	if f.gone {
		return ErrIO
	}
	size := perFile + len(name) + len(is.text)
	if f.held+size > f.limit || f.pool != nil && size > f.pool.free {
		return ErrNoSpace
	}
	f.put(name, is)
	return nil
}

// Put writes a file whole, whatever room there is: the kubelet's own, and those of an image.
func (f *Folder) Put(name, text string) { f.put(name, file{text: text}) }

func (f *Folder) put(name string, is file) {
	f.Remove(name)
	f.files[name] = is
	f.take(perFile + len(name) + len(is.text))
}

// Remove removes a file, or a link.
func (f *Folder) Remove(name string) {
	if is, there := f.files[name]; there {
		f.take(-(perFile + len(name) + len(is.text)))
		delete(f.files, name)
	}
}

// Clear removes all, and gives the room back.
func (f *Folder) Clear() {
	f.take(-f.held)
	clear(f.files)
}

// Part takes the files away from those who still have the folder, as when the disk below a mounted
// filesystem is taken away: they read nothing, and writing fails. It gives the files in a folder of
// their own.
func (f *Folder) Part() *Folder {
	own := *f
	f.files, f.held, f.pool, f.gone = map[string]file{}, 0, nil, true
	return &own
}

func (f *Folder) take(size int) {
	f.held += size
	if f.pool != nil {
		f.pool.free -= size
	}
}
