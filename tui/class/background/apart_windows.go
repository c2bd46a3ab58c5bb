package background

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// apart gives a program no console and a process group of its own.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}
