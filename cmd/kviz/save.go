package main

import (
	"errors"
	"fmt"
	"os"

	"kviz/cluster"
	"kviz/cluster/secrets"
	"kviz/cluster/trace"
)

// createRecording makes the file of a recording, for its owner alone, in place of one that is
// there: what an earlier kviz has left may be readable to others, and open to them.
func createRecording(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err == nil && info.Mode().IsRegular() {
		err = os.Remove(path)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	// Through a link, a file may be there all the same; a terminal or a pipe is nobody's to close.
	if info, err = f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		err = f.Chmod(0o600)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// saveRecording writes what memory holds of a run as a recording, into a new file.
func saveRecording(c *cluster.Cluster, path string, h trace.Header) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	r, err := trace.NewRecorder(file, h)
	if err != nil {
		return errors.Join(err, file.Close(), os.Remove(path))
	}
	hide := secrets.New()
	var missed uint64
	for at, end := uint64(0), c.Trace().Len(); at < end; {
		events, next, lost := c.Trace().Read(at, 4096)
		if at, missed = next, missed+lost; lost > 0 {
			r.Gap()
		}
		for _, e := range events {
			r.Append(hide.Hide(e))
		}
		r.Flush() // so that little waits in memory to be written
	}
	err = errors.Join(r.Close(), file.Close())
	if err == nil && missed > 0 {
		return fmt.Errorf("%s is written, without the first %d events, which have left memory (--trace FILE records a run from its beginning)", path, missed)
	}
	return err
}
