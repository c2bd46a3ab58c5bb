// Package durable changes files and folders so that a power cut leaves either the old
// state or the new one: what etcd has in client/pkg/v3/fileutil. On Linux, an fsync
// of a file makes its bytes durable, and an fsync of its folder makes its name
// durable.
//
// Start reading at [Replace].
package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// Replace writes a file under another name, path.new, and gives it its own. A process
// that dies leaves the old contents or the new; with sync so does a machine that loses
// its power.
func Replace(path string, data []byte, sync bool) error {
	next := path + ".new"
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", next, err)
	}
	if err := os.Rename(next, path); err != nil || !sync {
		return err
	}
	return Dir(filepath.Dir(path))
}

// Dir makes what was created, renamed or deleted in folders durable.
func Dir(dirs ...string) error {
	for _, dir := range dirs {
		d, err := fileutil.OpenDir(dir) // Windows syncs what is open for writing only
		if err != nil {
			return err
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			return fmt.Errorf("sync %s: %w", dir, err)
		}
	}
	return nil
}
