//go:build unix

package steady

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

func turnFile() string { return fmt.Sprintf("kviz-tests-%d.lock", os.Getuid()) }

// lock waits until no other open file has the lock; closing the file gives it back.
func lock(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
