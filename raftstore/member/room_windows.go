package member

import "syscall"

// noSpaceErrors are how a file system says that it, or the user's quota, is full:
// Go's own for a disk filled on purpose, ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL,
// ERROR_DISK_QUOTA_EXCEEDED.
var noSpaceErrors = []syscall.Errno{syscall.ENOSPC, 39, 112, 1295}
