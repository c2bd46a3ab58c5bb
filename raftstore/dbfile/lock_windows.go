package dbfile

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// locked reports whether a running etcd has the database open, and shares its lock for
// as long as the file is open if none has. bbolt locks the last byte that a file could have.
func locked(f *os.File) bool {
	last := windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxUint32}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &last)
	return errors.Is(err, windows.ERROR_LOCK_VIOLATION)
}
