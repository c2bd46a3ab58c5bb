// Package host is the machine below kviz, where operating systems differ: what a
// process takes and whether it runs, how a program is started that ends with this one,
// whose a file is, and errors that Windows numbers in its own way. The store's packages and the
// cluster's ask it; nothing in it is simulated.
//
// Start reading at host.go, which says what each system must answer.
package host

import (
	"errors"
	"os/exec"
	"time"
)

// Alive reports whether a process runs.
func Alive(pid int) bool { return alive(pid) }

// ProcessorTime is what the processor has spent on a process. Of others than this one
// it is known on Linux and Windows only ([errors.ErrUnsupported]).
func ProcessorTime(pid int) (time.Duration, error) { return processorTime(pid) }

// Memory is the part of a process that is resident, in bytes.
type Memory struct {
	Resident uint64
	Own      uint64 // of that, what no file backs
}

// MemoryOf measures a process. macOS tells that through cgo only, which kviz does
// without ([errors.ErrUnsupported]).
func MemoryOf(pid int) (Memory, error) { return memoryOf(pid) }

// Start starts a program that the keys of the terminal do not reach: Ctrl-C is for this
// one to handle. The program can tell when this one is gone ([AwaitParent]); the
// function that is returned must be called when it has ended.
func Start(cmd *exec.Cmd) (ended func() error, err error) { return start(cmd) }

// AwaitParent returns when the program that [Start] started this one is gone. In a
// program that was started otherwise it fails.
func AwaitParent() error { return awaitParent() }

// Interrupted reports whether a program was ended by the terminal's Ctrl-C.
func Interrupted(state interface{ Sys() any }) bool { return interrupted(state.Sys()) }

// Terminate asks a program to end; where that cannot be asked, it ends it.
func Terminate(cmd *exec.Cmd) error { return terminate(cmd.Process) }

// NobodyReads tells the error of a write whose reader has gone.
func NobodyReads(err error) bool { return isAny(err, nobodyReads) }

// InUse tells the error of listening where another program listens.
func InUse(err error) bool { return isAny(err, inUse) }

// NotEmpty tells the error of removing a folder that holds something.
func NotEmpty(err error) bool { return isAny(err, notEmpty) }

func isAny(err error, kinds []error) bool {
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// Private says why a file or folder cannot be trusted, nil if it can: the user owns it, nobody
// else may write it or put something else in its place, and it is no link. Administrators are
// trusted. On Unix the folders above it are looked at too, on Windows only itself.
func Private(path string) error { return private(path) }
