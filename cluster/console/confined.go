package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"

	"kviz/cluster/control"
)

// confinement is the one folder that a shell reaches in which a stranger's script runs. What the machine
// has elsewhere is not there for it, whichever way it is named: by its absolute path, by ..,
// or through a symbolic link.
type confinement struct {
	dir   string // without symbolic links
	root  *os.Root
	guard control.Guard // of what is written; nil: nobody counts
}

func confine(dir string, guard control.Guard) (*confinement, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	return &confinement{real, root, guard}, nil
}

// rel is the way from the folder to what a name means in dir, as [os.Root] wants it.
func (c *confinement) rel(dir, name string) (string, error) {
	at := name
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	rel, err := filepath.Rel(c.dir, filepath.Clean(at))
	if err != nil || !filepath.IsLocal(rel) && rel != "." {
		return "", fmt.Errorf("%s: this is outside the only folder that can be reached here", name)
	}
	return rel, nil
}

// reach is the path of a file for a program that opens it itself; one that leads out through a
// symbolic link is refused too.
func (c *confinement) reach(dir, name string) (string, error) {
	if c.root == nil {
		return "", fmt.Errorf("%s: the folder has gone", name)
	}
	rel, err := c.rel(dir, name)
	if err != nil {
		return "", err
	}
	if _, err := c.root.Stat(rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if parent := filepath.Dir(rel); parent != "." {
		if _, err := c.root.Stat(parent); err != nil && !errors.Is(err, fs.ErrNotExist) { // what is not there leads nowhere
			return "", fmt.Errorf("%s: %w", name, err)
		}
	}
	return filepath.Join(c.dir, rel), nil
}

// create opens a file of the folder for writing.
func (c *confinement) create(dir, name string, how int) (io.WriteCloser, error) {
	if c.root == nil {
		return nil, fmt.Errorf("%s: the folder has gone", name)
	}
	rel, err := c.rel(dir, name)
	if err != nil {
		return nil, err
	}
	f, err := c.root.OpenFile(rel, how, 0o666)
	if err != nil {
		return nil, err
	}
	return c.counted(f), nil
}

// counted is a file whose guard is asked before anything is written to it.
func (c *confinement) counted(f *os.File) io.ReadWriteCloser {
	if c.guard == nil {
		return f
	}
	return guardedFile{f, c.guard}
}

type guardedFile struct {
	*os.File
	guard control.Guard
}

// Write is [io.Writer].
func (f guardedFile) Write(p []byte) (int, error) {
	if err := f.guard.File(len(p)); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

// ReadFrom is [io.ReaderFrom], so that nothing is copied past Write.
func (f guardedFile) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{f}, r)
}

// options has a shell see the folder alone: in redirections, globs, tests, cd and source.
func (c *confinement) options() []interp.RunnerOption {
	in := func(ctx context.Context, name string) (string, error) {
		rel, err := c.rel(interp.HandlerCtx(ctx).Dir, name)
		if err != nil {
			return "", &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
		}
		return rel, nil
	}
	env := expand.ListEnviron("HOME="+c.dir, "TMPDIR="+c.dir, "PATH=") // nor does it see the person's environment
	return []interp.RunnerOption{
		interp.Dir(c.dir), interp.Env(env),
		interp.OpenHandler(func(ctx context.Context, name string, flag int, perm os.FileMode) (io.ReadWriteCloser, error) {
			if name == os.DevNull {
				return os.OpenFile(os.DevNull, flag, perm)
			}
			rel, err := in(ctx, name)
			if err != nil {
				return nil, err
			}
			f, err := c.root.OpenFile(rel, flag, perm)
			if err != nil {
				return nil, err
			}
			if flag&(os.O_WRONLY|os.O_RDWR) == 0 {
				return f, nil // of which the shell makes the standard input as it is
			}
			return c.counted(f), nil
		}),
		interp.ReadDirHandler2(func(ctx context.Context, name string) ([]fs.DirEntry, error) {
			rel, err := in(ctx, name)
			if err != nil {
				return nil, err
			}
			return fs.ReadDir(c.root.FS(), filepath.ToSlash(rel))
		}),
		interp.StatHandler(func(ctx context.Context, name string, follow bool) (fs.FileInfo, error) {
			rel, err := in(ctx, name)
			if err != nil {
				return nil, err
			}
			if follow {
				return c.root.Stat(rel)
			}
			return c.root.Lstat(rel)
		}),
		interp.AccessHandler(func(ctx context.Context, name string, _ interp.AccessMode) error {
			rel, err := in(ctx, name)
			if err != nil {
				return err
			}
			_, err = c.root.Stat(rel)
			return err
		}),
	}
}

// execWithin runs a line that a stranger wrote, confined to a folder ([control.Streams].Within), in a shell
// of its own: what it defines goes with it.
func (c *Console) execWithin(ctx context.Context, line string, streams control.Streams) int {
	s := c.NewSession()
	var err error
	s.guard = streams.Guard
	if s.within, err = confine(streams.Within, s.guard); err != nil {
		fmt.Fprintf(orDiscard(streams.Err), "console: %v\n", err)
		return 1
	}
	defer s.within.root.Close()
	s.busy.Lock()
	defer s.busy.Unlock()
	computes(s.guard, 1)
	defer computes(s.guard, -1)
	return s.exec(ctx, "", line, streams)
}
