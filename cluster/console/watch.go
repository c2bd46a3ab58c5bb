package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"kviz/cluster/console/command"
	"kviz/cluster/sim"
)

// mostWatched is how much of a command's output watch keeps.
const mostWatched = 1 << 20

// watch runs a command every two seconds of virtual time, or every -n, and prints what it printed
// whenever that has changed: watch kubectl get pods. The real one keeps a whole screen, which a
// console whose lines are kept has not. It ends with ctrl+c, in a script by a timeout before it
// or with -g at the first change.
func watch(ctx context.Context, inv *command.Invocation) int {
	every, title, change, failing := 2*time.Second, true, false, false
	args := inv.Args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		if long, is := strings.CutPrefix(a, "--"); is {
			name, value, with := strings.Cut(long, "=")
			letter := map[string]string{"interval": "n", "no-title": "t", "chgexit": "g", "errexit": "e", "differences": "d", "exec": "x", "color": "c"}[name]
			if letter == "" {
				fmt.Fprintf(inv.Err, "watch: unrecognized option '%s' (this watch knows -n, -t, -g, -e, -d, -x)\n", a)
				return 1
			}
			if a = "-" + letter; with {
				a += value
			}
		}
		for i := 1; i < len(a); i++ {
			switch a[i] {
			case 't':
				title = false
				continue
			case 'g':
				change = true
				continue
			case 'e':
				failing = true
				continue
			case 'd', 'x', 'c', 'b', 'w', 'p': // what changes is shown by printing it again
				continue
			case 'n':
				v := a[i+1:]
				if v == "" && len(args) > 0 {
					v, args = args[0], args[1:]
				}
				var err error
				if every, err = command.ParseDuration(v); err != nil {
					fmt.Fprintf(inv.Err, "watch: failed to parse argument: '%s'\n", v)
					return 1
				}
				every = max(every, 100*time.Millisecond)
			default:
				fmt.Fprintf(inv.Err, "watch: invalid option -- '%c' (this watch knows -n, -t, -g, -e, -d, -x)\n", a[i])
				return 1
			}
			break
		}
	}
	if len(args) == 0 {
		fmt.Fprintln(inv.Err, "usage: watch [-n SECONDS] [-t] [-g] [-e] COMMAND   (every so many seconds of virtual time; ctrl+c ends it)")
		return 1
	}
	if inv.Script && !command.Ends(ctx) && !change && !inv.Behind {
		fmt.Fprintln(inv.Err, "watch: it never ends by itself, and this is a script: put timeout 30s before it or & behind it, or use watch -g, kubectl wait or kviz wait")
		return 1
	}
	if !inv.MayWait() {
		return 1
	}
	line := strings.Join(args, " ")
	limit := inv.LimitOf(0)
	if end, ok := command.Deadline(ctx); ok {
		limit = end
	} else if limit > 0 {
		limit += inv.Kernel.Time()
	}
	var last []byte
	for first := true; ; first = false {
		var out bytes.Buffer
		one := *inv
		kept := &atMost{w: &out, left: mostWatched}
		one.Args, one.In, one.Piped, one.Out, one.Err = []string{"sh"}, strings.NewReader(""), true, kept, kept
		exit := session(ctx).subshell(ctx, &one, line, "", nil)
		if ctx.Err() != nil {
			return 130
		}
		if now := out.Bytes(); first || !bytes.Equal(now, last) {
			if title {
				var at time.Time
				_ = inv.Kernel.Do(func() { at = inv.Kernel.Now() })
				fmt.Fprintf(inv.Out, "Every %.1fs: %s  %s\n\n", every.Seconds(), line, at.UTC().Format(time.ANSIC))
			}
			_, _ = inv.Out.Write(now)
			if title && len(now) > 0 {
				fmt.Fprintln(inv.Out)
			}
			last = bytes.Clone(now)
			if change && !first {
				return 0
			}
		}
		if failing && exit != 0 {
			return 8
		}
		over := false
		err := inv.Kernel.Wait(ctx, inv.Cause, "watch", func(t *sim.Task) {
			d := every
			if left := limit - t.Elapsed(); limit > 0 && left <= d {
				d, over = max(left, 0), true
			}
			t.Sleep(d)
		})
		switch {
		case errors.Is(err, context.Canceled):
			return 130
		case err != nil:
			fmt.Fprintf(inv.Err, "watch: %v\n", err)
			return 1
		case over:
			return 0 // timeout says 124
		}
	}
}

// atMost keeps so much of an output.
type atMost struct {
	w    io.Writer
	left int
}

// Write is [io.Writer].
func (a *atMost) Write(p []byte) (int, error) {
	n := min(len(p), a.left)
	a.left -= n
	_, _ = a.w.Write(p[:n])
	return len(p), nil
}
