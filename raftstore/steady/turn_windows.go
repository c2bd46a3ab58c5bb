package steady

import (
	"os"

	"golang.org/x/sys/windows"
)

func turnFile() string { return "kviz-tests.lock" } // the folder is the user's own

// lock waits until no other open file has the lock; closing the file gives it back.
func lock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, new(windows.Overlapped))
}
