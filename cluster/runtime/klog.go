package runtime

import (
	"fmt"
	"strings"
)

// Info writes a line to the container's log as klog.InfoS does: where in the program's source it
// is from, a message, and keys with their values.
func (in Instance) Info(from, message string, pairs ...any) { in.klog('I', from, message, pairs) }

// Error is klog.ErrorS.
func (in Instance) Error(from string, err error, message string, pairs ...any) {
	if err != nil {
		pairs = append([]any{"err", err}, pairs...)
	}
	in.klog('E', from, message, pairs)
}

// klog writes a line with klog's header (klog.go formatHeader): the program is process 1 of its container.
func (in Instance) klog(severity byte, from, message string, pairs []any) {
	var line strings.Builder
	fmt.Fprintf(&line, "%c%s       1 %s] %q", severity, in.Process.Kernel().Now().UTC().Format("0102 15:04:05.000000"), from, message)
	for i := 0; i+1 < len(pairs); i += 2 {
		switch v := pairs[i+1].(type) {
		case string:
			fmt.Fprintf(&line, " %s=%q", pairs[i], v)
		case error:
			fmt.Fprintf(&line, " %s=%q", pairs[i], v.Error())
		case fmt.Stringer:
			fmt.Fprintf(&line, " %s=%q", pairs[i], v.String())
		default:
			fmt.Fprintf(&line, " %s=%v", pairs[i], v)
		}
	}
	in.Log(line.String())
}
