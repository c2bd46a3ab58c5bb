package main

import (
	"errors"
	"fmt"
	"os"

	"kviz/cluster"
	"kviz/cluster/trace"
)

// saveRecording writes what memory holds of a run as a recording, into a new file.
func saveRecording(c *cluster.Cluster, path string, h trace.Header) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	r, err := trace.NewRecorder(file, h)
	if err != nil {
		return errors.Join(err, file.Close(), os.Remove(path))
	}
	var missed uint64
	for at, end := uint64(0), c.Trace().Len(); at < end; {
		events, next, lost := c.Trace().Read(at, 4096)
		if at, missed = next, missed+lost; lost > 0 {
			r.Gap()
		}
		for _, e := range events {
			r.Append(e)
		}
		r.Flush() // so that little waits in memory to be written
	}
	err = errors.Join(r.Close(), file.Close())
	if err == nil && missed > 0 {
		return fmt.Errorf("%s is written, without the first %d events, which have left memory (--trace FILE records a run from its beginning)", path, missed)
	}
	return err
}
