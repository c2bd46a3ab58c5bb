package host

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of /proc's processor times: USER_HZ is 100 on Linux.
const tick = 10 * time.Millisecond

func processorTime(pid int) (time.Duration, error) {
	if pid == os.Getpid() {
		return ownProcessorTime() // to the microsecond
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name, in brackets, may hold anything; utime and stime are fields 14 and 15
	// of proc_pid_stat(5).
	fields := strings.Fields(string(text)[strings.LastIndexByte(string(text), ')')+1:])
	var sum time.Duration
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(f)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

func memoryOf(pid int) (Memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Memory{}, err
	}
	var m Memory
	for name, into := range map[string]*uint64{"VmRSS:": &m.Resident, "RssAnon:": &m.Own} {
		_, rest, ok := strings.Cut(string(text), name)
		if !ok {
			return Memory{}, fmt.Errorf("process %d has no %s", pid, strings.TrimSuffix(name, ":"))
		}
		kib, err := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
		if err != nil {
			return Memory{}, err
		}
		*into = kib << 10
	}
	return m, nil
}
