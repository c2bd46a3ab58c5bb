//go:build !windows

package member

import "syscall"

// noSpaceErrors are how a file system says that it, or the user's quota, is full.
var noSpaceErrors = []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT}
