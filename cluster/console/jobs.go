package console

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"kviz/cluster/console/command"
	"kviz/cluster/sim"
)

// The commands of a shell that has jobs: jobs, wait, kill, disown. The shell's library has some of them
// itself; as its names are looked for before those of others, a script's call of one is renamed.

// ofJobs goes before their names.
const ofJobs = "\x00"

// jobCommands are those commands, by their names.
var jobCommands map[string]func(context.Context, *Session, *command.Invocation) int

func init() {
	// Not where it is declared: they find what they run here.
	jobCommands = map[string]func(context.Context, *Session, *command.Invocation) int{
		"jobs": jobs, "wait": waitJobs, "kill": kill, "disown": disown,
	}
}

// shellJobs are the jobs of one shell.
type shellJobs struct {
	mu   sync.Mutex
	list []*numbered // that have not been waited for, and whose end has not been told
}

// numbered is a job with its number in its shell.
type numbered struct {
	*job
	number int
}

func (s *shellJobs) add(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	number := 1
	if n := len(s.list); n > 0 {
		number = s.list[n-1].number + 1
	}
	s.list = append(s.list, &numbered{j, number})
}

func (s *shellJobs) all() []*numbered {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

func (s *shellJobs) forget(n *numbered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(o *numbered) bool { return o == n })
}

// find is the job that a word names: %1, %%, %+, %-, %kubectl, %?pods or a process ID.
func (s *shellJobs) find(word string) (*numbered, bool) {
	list := s.all()
	name, isJob := strings.CutPrefix(word, "%")
	n, err := strconv.Atoi(name)
	var is func(*numbered) bool
	switch {
	case !isJob:
		is = func(j *numbered) bool { return err == nil && j.pid == n }
	case name == "" || name == "%" || name == "+":
		is = func(j *numbered) bool { return j == list[len(list)-1] }
	case name == "-":
		is = func(j *numbered) bool { return j == list[max(len(list)-2, 0)] }
	case err == nil:
		is = func(j *numbered) bool { return j.number == n }
	case name[0] == '?':
		is = func(j *numbered) bool { return strings.Contains(j.line, name[1:]) }
	default:
		is = func(j *numbered) bool { return strings.HasPrefix(j.line, name) }
	}
	i := slices.IndexFunc(list, is)
	if i < 0 {
		return nil, false
	}
	return list[i], true
}

// ended is whether a job has ended, and its exit status.
func (j *job) ended(k *command.Kernel) (over bool, exit int) {
	_ = k.Do(func() { over, exit = j.over, j.exit })
	return over, exit
}

// jobs lists a shell's jobs as bash does.
func jobs(_ context.Context, s *Session, inv *command.Invocation) int {
	long, pids := false, false
	for _, a := range inv.Args[1:] {
		switch a {
		case "-l":
			long = true
		case "-p":
			pids = true
		default:
			fmt.Fprintf(inv.Err, "jobs: %s: invalid option (this shell's jobs knows -l and -p)\n", a)
			return 2
		}
	}
	list := s.jobs.all()
	for i, j := range list {
		if pids {
			fmt.Fprintln(inv.Out, j.pid)
			continue
		}
		mark := " "
		switch len(list) - i {
		case 1:
			mark = "+"
		case 2:
			mark = "-"
		}
		state, and := "Running", " &"
		if over, exit := j.ended(inv.Kernel); over {
			s.jobs.forget(j)
			and = ""
			switch killed := j.signal(); {
			case killed != 0:
				state = killed.String()
			case exit != 0:
				state = fmt.Sprintf("Exit %d", exit)
			default:
				state = "Done"
			}
		}
		if long {
			mark += fmt.Sprintf(" %d", j.pid)
		}
		fmt.Fprintf(inv.Out, "[%d]%s  %-23s %s%s\n", j.number, mark, state, j.line, and)
	}
	return 0
}

// waitJobs waits until jobs have ended: the named ones, or all of this shell. Its status is that of the last
// one that it names.
func waitJobs(ctx context.Context, s *Session, inv *command.Invocation) int {
	words := inv.Args[1:]
	if len(words) == 0 {
		for _, j := range s.jobs.all() {
			if exit := s.waitFor(ctx, inv, j); exit < 0 {
				return -exit
			}
		}
		return 0
	}
	last := 0
	for _, word := range words {
		if strings.HasPrefix(word, "-") {
			fmt.Fprintf(inv.Err, "wait: %s: invalid option (this shell's wait has none)\n", word)
			return 2
		}
		j, ok := s.jobs.find(word)
		switch {
		case ok:
			if last = s.waitFor(ctx, inv, j); last < 0 {
				return -last
			}
		case strings.HasPrefix(word, "%"):
			fmt.Fprintf(inv.Err, "wait: %s: no such job\n", word)
			last = 127
		default:
			fmt.Fprintf(inv.Err, "wait: pid %s is not a child of this shell\n", word)
			last = 127
		}
	}
	return last
}

// waitFor waits for a job and gives its status; a negative one is that of a wait that came to
// nothing.
func (s *Session) waitFor(ctx context.Context, inv *command.Invocation, j *numbered) int {
	if over, exit := j.ended(inv.Kernel); over {
		s.jobs.forget(j)
		return exit
	}
	if !inv.MayWait() {
		return -1
	}
	exit, late := 0, false
	err := inv.Kernel.Wait(ctx, inv.Cause, "wait", func(t *sim.Task) {
		until := t.Elapsed() + command.ScriptLimit
		if end, ok := command.Deadline(ctx); ok {
			until = min(until, end)
		}
		for !j.over {
			left := until - t.Elapsed()
			if left <= 0 {
				late = true
				return
			}
			j.group.ended.WaitTimeout(t, left)
		}
		exit = j.exit
	})
	switch {
	case err != nil:
		return -130
	case late && command.Ends(ctx):
		return -124
	case late:
		fmt.Fprintf(inv.Err, "wait: %s runs on after %s of virtual time\n", j.line, command.ScriptLimit.Round(time.Minute))
		return -1
	}
	s.jobs.forget(j)
	return exit
}

// The signals that kill knows.
const (
	sigHup  signal = 1
	sigInt  signal = 2
	sigQuit signal = 3
	sigKill signal = 9
	sigTerm signal = 15
)

var signalNames = map[signal]string{sigHup: "HUP", sigInt: "INT", sigQuit: "QUIT", sigKill: "KILL", sigTerm: "TERM"}

// String is what bash says of a job that it has ended.
func (n signal) String() string {
	switch n {
	case sigHup:
		return "Hangup"
	case sigInt:
		return "Interrupt"
	case sigQuit:
		return "Quit"
	case sigKill:
		return "Killed"
	}
	return "Terminated"
}

// parseSignal reads TERM, SIGTERM or 15.
func parseSignal(word string) (signal, bool) {
	n, err := strconv.Atoi(word)
	name := strings.TrimPrefix(strings.ToUpper(word), "SIG")
	for number, is := range signalNames {
		if name == is || err == nil && signal(n) == number {
			return number, true
		}
	}
	return 0, err == nil && n == 0
}

// kill ends jobs: kill %1, kill $!, kill -9 1001. Signal 0 asks whether there is one.
func kill(_ context.Context, s *Session, inv *command.Invocation) int {
	by, words := sigTerm, inv.Args[1:]
	if len(words) > 0 && len(words[0]) > 1 && words[0][0] == '-' && words[0] != "--" {
		word := words[0][1:]
		words = words[1:]
		switch {
		case word == "l":
			fmt.Fprintln(inv.Out, "1) HUP  2) INT  3) QUIT  9) KILL  15) TERM")
			return 0
		case (word == "s" || word == "n") && len(words) > 0:
			word, words = words[0], words[1:]
		}
		var ok bool
		if by, ok = parseSignal(word); !ok {
			fmt.Fprintf(inv.Err, "kill: %s: invalid signal specification (here are HUP, INT, QUIT, KILL, TERM and 0)\n", word)
			return 1
		}
	}
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		fmt.Fprintln(inv.Err, "kill: usage: kill [-s SIGNAL | -SIGNAL] PID | %JOB ... or kill -l")
		return 2
	}
	exit := 0
	for _, word := range words {
		j, ok := s.jobs.find(word)
		isJob := strings.HasPrefix(word, "%")
		if ok {
			if over, _ := j.ended(inv.Kernel); over {
				if ok = false; isJob {
					continue
				}
			}
		}
		_, err := strconv.Atoi(word)
		switch {
		case ok && by != 0:
			j.kill(by)
		case ok:
		case isJob:
			fmt.Fprintf(inv.Err, "kill: %s: no such job\n", word)
			exit = 1
		case err != nil:
			fmt.Fprintf(inv.Err, "kill: %s: arguments must be process or job IDs\n", word)
			exit = 1
		default:
			fmt.Fprintf(inv.Err, "kill: (%s) - No such process\n", word)
			exit = 1
		}
	}
	return exit
}

// disown has a shell forget jobs, which run on.
func disown(_ context.Context, s *Session, inv *command.Invocation) int {
	words := inv.Args[1:]
	if len(words) == 0 {
		words = []string{"%%"}
	}
	exit := 0
	for _, word := range words {
		if j, ok := s.jobs.find(word); ok {
			s.jobs.forget(j)
			continue
		}
		fmt.Fprintf(inv.Err, "disown: %s: no such job\n", word)
		exit = 1
	}
	return exit
}
