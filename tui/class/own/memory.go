package own

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// memory knows whether one more cluster has room. Its user has a lock.
type memory struct {
	most, each int64
	used       func() int64

	at  time.Time // when it was measured
	was bool
}

// full reports whether there is no room for one more. It is measured once a second.
func (m *memory) full() bool {
	if now := time.Now(); m.at.IsZero() || now.Sub(m.at) >= time.Second {
		m.at, m.was = now, m.measure()+m.each > m.most
	}
	return m.was
}

func (m *memory) measure() int64 {
	if m.used != nil {
		return m.used()
	}
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	// What is dead is collected before the limit is reached, so half of it counts.
	dead := int64(s[2].Value.Uint64()) - int64(s[3].Value.Uint64())
	return int64(s[0].Value.Uint64()) - int64(s[1].Value.Uint64()) - max(dead, 0)/2
}

// machine is three quarters of the memory that this process may have, in MiB.
func machine() int {
	most := int64(4 << 30)
	if total := number("/proc/meminfo", "MemTotal:"); total > 0 {
		most = total << 10
	}
	if group := number("/sys/fs/cgroup/memory.max", ""); group > 0 {
		most = min(most, group)
	}
	if limit := debug.SetMemoryLimit(-1); limit > 0 {
		most = min(most, limit)
	}
	return int(most / 4 * 3 >> 20)
}

// number is the first number in a file behind a word; 0 where there is none.
func number(file, word string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), word)
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	n, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
