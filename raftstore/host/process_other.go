//go:build unix && !linux

package host

import (
	"errors"
	"fmt"
	"os"
	"time"
)

func processorTime(pid int) (time.Duration, error) {
	if pid != os.Getpid() {
		return 0, fmt.Errorf("the processor time of process %d: %w", pid, errors.ErrUnsupported)
	}
	return ownProcessorTime()
}

func memoryOf(pid int) (Memory, error) {
	return Memory{}, fmt.Errorf("the memory of process %d: %w", pid, errors.ErrUnsupported)
}
