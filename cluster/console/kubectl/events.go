package kubectl

import (
	"context"
	"strings"
)

// followEvents is events --watch: the list, then each line that is new or has
// changed. kubectl tells the ages of Events by the machine's clock.
func (k *run) followEvents(ctx context.Context, args []string, flags *parsed) int {
	limit := flags.timeout("request-timeout")
	if k.endless(ctx, limit) {
		return 1
	}
	once := without(args, map[string]bool{"-w": false, "--watch": false, "--request-timeout": true})
	shown := map[string]bool{}
	first := true
	exit, timedOut := k.check(ctx, limit, k.resourcesOf(flags.args), func() (bool, int) {
		r := k.once(once)
		if r.exit != 0 {
			return true, k.print(r)
		}
		now := map[string]bool{}
		for _, line := range strings.SplitAfter(string(r.out), "\n") {
			key := withoutAge(line)
			now[key] = true
			if line != "" && !shown[key] {
				if _, err := k.inv.Out.Write([]byte(line)); err != nil { // the reader has gone
					return true, 0
				}
			}
		}
		if first {
			_, _ = k.inv.Err.Write(r.errOut)
		}
		shown, first = now, false
		return false, 0
	})
	if timedOut {
		return 0
	}
	if ctx.Err() != nil {
		return 130
	}
	return exit
}

// withoutAge is a line of a table without words that change with time alone.
func withoutAge(line string) string {
	words := strings.Fields(line)
	kept := words[:0:0]
	for _, w := range words {
		if !isAge(w) {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, " ")
}

// isAge reports whether a word is a duration as tables print it: 5s, 2m30s, 3d4h.
func isAge(w string) bool {
	w = strings.Trim(w, "()")
	digits := false
	for _, r := range w {
		switch {
		case r >= '0' && r <= '9':
			digits = true
		case strings.ContainsRune("smhdy", r) && digits:
			digits = false
		default:
			return false
		}
	}
	return w != "" && !digits
}
