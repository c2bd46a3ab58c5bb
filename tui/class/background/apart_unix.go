//go:build unix

package background

import (
	"os/exec"
	"syscall"
)

// apart gives a program a session of its own.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
