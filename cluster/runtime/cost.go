package runtime

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"kviz/cluster/folder"
	"kviz/cluster/sim"
)

// What the scripts of one container, or one exec, may cost. Where Linux has a limit it is Linux's, with
// its words; a container's memory is what the rest stands for.
const (
	maxArgument  = 128 << 10   // MAX_ARG_STRLEN (include/uapi/linux/binfmts.h)
	maxName      = 255         // of a program in a message: NAME_MAX
	maxArguments = 2 << 20     // all of them and the environment: ARG_MAX with a stack of 8 MiB
	maxScript    = 1 << 20     // read from standard input
	maxParts     = 10_000      // of a script, as deep as it may be nested
	maxWord      = 256 << 10   // what one word, variable or substitution comes to
	maxHeld      = 4 << 20     // all variables of a shell
	maxPipe      = 1 << 20     // what waits in a pipe, whose sides run one after the other
	maxDisk      = folder.Most // all files that a container has written
	maxJobs      = 256         // background jobs that have not ended
	maxDepth     = 100         // shells that run in one another

	// perCommand is how long a command takes that does not wait, and for each page of what its words
	// come to. A shell gives way when its container has used slice, so that what a loop
	// costs the machine is a fraction of the time that passes in it.
	perCommand = 500 * time.Microsecond
	page       = 4 << 10
	slice      = 20 * time.Millisecond
)

// What a shell ends with that needs more memory, or more processes, than there are (ash's words).
var (
	errMemory = errors.New("out of memory")
	errFork   = errors.New("can't fork: Resource temporarily unavailable")
)

// meter is what the shells of one container use together: one processor, and so many jobs.
type meter struct {
	until time.Duration // when the processor is free again, in virtual time
	jobs  int
}

// spend has the time of n commands pass.
func (sh *shell) spend(n int) {
	now, m := sh.t.Elapsed(), sh.meter
	m.until = max(m.until, now) + time.Duration(n)*perCommand
	if m.until-now >= slice {
		sh.t.Sleep(m.until - now)
	}
}

// fail ends the shell.
func (sh *shell) fail(err error) {
	if !sh.exited {
		fmt.Fprintf(sh.err, "sh: %v\n", err)
	}
	sh.exited, sh.last = true, 2
}

// variables are those of a shell, which the shells that it starts have too.
type variables struct {
	value map[string]string
	held  int // bytes
}

func (v *variables) set(name, value string) error {
	held := v.held + len(value)
	if was, ok := v.value[name]; ok {
		held -= len(was)
	} else {
		held += len(name) + 64 // what a map needs for one more
	}
	if len(value) > maxWord || held > maxHeld {
		return errMemory
	}
	v.value[name], v.held = value, held
	return nil
}

// assign sets a variable, if there is memory for it.
func (sh *shell) assign(name, value string) {
	if err := sh.env.set(name, value); err != nil {
		sh.fail(err)
	}
}

// background starts a job, if there may be one more.
func (sh *shell) background(s *syntax.Stmt) {
	m := sh.meter
	if m.jobs == maxJobs {
		sh.fail(errFork)
		return
	}
	child := *sh
	job := *s
	job.Background = false
	m.jobs++
	sh.t.Process().Go("background", func(t *sim.Task) {
		child.t = t
		child.stmt(&job)
	}).OnEnd(func() { m.jobs-- })
	sh.spend(1)
	sh.last = 0
}

// widths is what the widths and precisions of a format come to.
func widths(format string) (sum int) {
	n := 0
	for i := range len(format) {
		if c := format[i]; '0' <= c && c <= '9' && n < maxWord {
			n = 10*n + int(c-'0')
			continue
		}
		sum, n = min(sum+n, 2*maxWord), 0
	}
	return sum + n
}

// bounded is a writer that takes so much and then says that its reader has gone.
type bounded struct {
	w    io.Writer
	left int
	full func()
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.left {
		b.left = 0
		b.full()
		return 0, io.ErrClosedPipe
	}
	b.left -= len(p)
	return b.w.Write(p)
}

// refuse is the runtime's refusal to start what is too long, "" if it is not.
func refuse(argv []string, env map[string]string) string {
	if !tooLong(argv, env) {
		return ""
	}
	program := "/entrypoint" // the image's own
	if len(argv) > 0 {
		program = argv[0][:min(len(argv[0]), maxName)]
	}
	return fmt.Sprintf("unable to start container process: exec %s: %v", program, errTooLong)
}

// tooLong reports what the kernel says of a command line with such an argument or variable, or with
// so much of them (E2BIG).
func tooLong(argv []string, env map[string]string) bool {
	all, longest := 0, 0
	for _, a := range argv {
		all, longest = all+len(a), max(longest, len(a))
	}
	for k, v := range env {
		n := len(k) + len("=") + len(v)
		all, longest = all+n, max(longest, n)
	}
	return longest > maxArgument || all > maxArguments
}

var errTooLong = errors.New("argument list too long")

// parseScript parses a script that is neither too long nor has too many parts for a recursive
// parser, for what runs out of a goroutine's stack ends the process and cannot be contained.
func parseScript(text string) ([]*syntax.Stmt, error) {
	if len(text) > maxScript || parts(text) > maxParts {
		return nil, errMemory
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, err
	}
	return f.Stmts, nil
}

// parts is at least how deep a script can be nested: it counts whatever opens a part, and nothing that
// closes one, because a letter does not say whether it does so or is quoted.
func parts(text string) int {
	n, from, signs := 0, 0, false
	for i := 0; i <= len(text); i++ {
		var c byte
		if i < len(text) {
			c = text[i]
		}
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' {
			signs = false
			continue
		}
		switch text[from:i] {
		case "if", "elif", "while", "until", "for", "case":
			n++
		}
		from = i + 1
		switch c {
		case '(', '{', '`', '|', '&', '?', '=':
			n++
		case '!', '~', '-', '+': // in arithmetic they nest one in another without a bracket
			if signs {
				n++
			}
			signs = true
			continue
		case ' ', '\t', '\n', '\\':
			continue
		}
		signs = false
	}
	return n
}
