package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Package syscall's names of Unix errors exist on Windows and match nothing there.
var (
	nobodyReads = []error{windows.ERROR_BROKEN_PIPE, windows.ERROR_NO_DATA}
	inUse       = []error{windows.WSAEADDRINUSE}
	notEmpty    = []error{windows.ERROR_DIR_NOT_EMPTY}
)

func alive(pid int) bool {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return errors.Is(err, windows.ERROR_ACCESS_DENIED) // another user's
	}
	defer func() { _ = windows.CloseHandle(h) }()
	// One that has ended is there as long as somebody holds it open.
	event, err := windows.WaitForSingleObject(h, 0)
	return err == nil && event == uint32(windows.WAIT_TIMEOUT)
}

func processorTime(pid int) (d time.Duration, err error) {
	err = withProcess(pid, func(h windows.Handle) error {
		var created, exited, kernel, user windows.Filetime
		if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
			return os.NewSyscallError("GetProcessTimes", err)
		}
		d = elapsed(kernel) + elapsed(user)
		return nil
	})
	return d, err
}

// elapsed is a length of time, which Windows counts in steps of 100 ns. (Filetime's
// Nanoseconds are those of a date.)
func elapsed(t windows.Filetime) time.Duration {
	return time.Duration(uint64(t.HighDateTime)<<32|uint64(t.LowDateTime)) * 100
}

func withProcess(pid int, do func(windows.Handle) error) error {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.PROCESS_VM_READ, false, uint32(pid))
	if err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	return errors.Join(do(h), windows.CloseHandle(h))
}

var getProcessMemoryInfo = windows.NewLazySystemDLL("kernel32.dll").NewProc("K32GetProcessMemoryInfo")

// memoryCounters is PROCESS_MEMORY_COUNTERS_EX of psapi.h.
type memoryCounters struct {
	size, faults                                             uint32
	peakWorkingSet, workingSet                               uintptr
	peakPagedPool, pagedPool, peakNonPagedPool, nonPagedPool uintptr
	pagefile, peakPagefile, private                          uintptr
}

func memoryOf(pid int) (m Memory, err error) {
	err = withProcess(pid, func(h windows.Handle) error {
		c := memoryCounters{size: uint32(unsafe.Sizeof(memoryCounters{}))}
		if ok, _, err := getProcessMemoryInfo.Call(uintptr(h), uintptr(unsafe.Pointer(&c)), uintptr(c.size)); ok == 0 {
			return os.NewSyscallError("GetProcessMemoryInfo", err)
		}
		// What is committed counts as private whether it is in RAM or not.
		m = Memory{Resident: uint64(c.workingSet), Own: uint64(min(c.private, c.workingSet))}
		return nil
	})
	return m, err
}

// parentHandle tells a program which of its handles is the pipe into which nobody ever
// writes: Windows has no numbers that both sides could agree upon before.
const parentHandle = "KVIZ_PARENT_HANDLE"

func start(cmd *exec.Cmd) (ended func() error, err error) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	handle := syscall.Handle(theirs.Fd())
	if err := syscall.SetHandleInformation(handle, syscall.HANDLE_FLAG_INHERIT, syscall.HANDLE_FLAG_INHERIT); err != nil {
		return nil, errors.Join(os.NewSyscallError("SetHandleInformation", err), theirs.Close(), ours.Close())
	}
	cmd.Env = append(cmd.Environ(), parentHandle+"="+strconv.FormatUint(uint64(handle), 10))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags:              windows.CREATE_NEW_PROCESS_GROUP, // Ctrl-C goes by it
		AdditionalInheritedHandles: []syscall.Handle{handle},
	}
	if err := errors.Join(cmd.Start(), theirs.Close()); err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	return ours.Close, nil
}

func awaitParent() error {
	handle, err := strconv.ParseUint(os.Getenv(parentHandle), 10, 64)
	if err != nil {
		return err
	}
	var b [1]byte
	if _, err := os.NewFile(uintptr(handle), "parent").Read(b[:]); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func interrupted(status any) bool {
	s, ok := status.(syscall.WaitStatus)
	return ok && windows.NTStatus(s.ExitCode) == windows.STATUS_CONTROL_C_EXIT
}

// terminate ends it: a console event would reach every program at the terminal.
func terminate(p *os.Process) error { return p.Kill() }
