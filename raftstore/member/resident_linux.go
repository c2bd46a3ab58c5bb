package member

import (
	"syscall"
	"unsafe"
)

// forget takes a file's mapped pages out of the process. The file is mapped
// shared and for reading only, so nothing is lost (madvise(2), MADV_DONTNEED).
func forget(start unsafe.Pointer, size int64) error {
	return syscall.Madvise(unsafe.Slice((*byte)(start), size), syscall.MADV_DONTNEED)
}
