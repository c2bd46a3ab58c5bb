//go:build unix

package dbfile

import (
	"errors"
	"os"
	"syscall"
)

// locked reports whether a running etcd has the database open, and shares its lock for
// as long as the file is open if none has. bbolt locks with flock(2).
func locked(f *os.File) bool {
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
