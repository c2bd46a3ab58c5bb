package console

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kviz/cluster/control"
	"kviz/cluster/script"
	"kviz/tui/grid"
	"kviz/tui/theme"
)

// job is a command that runs: in the foreground, or in the background, where it has a number and what it
// prints is marked with it.
type job struct {
	line   string
	cancel context.CancelFunc
	killed bool // the person has ended it
	over   bool // it has ended, with
	exit   int
	seen   bool          // whoever draws has learnt that it is over
	number int           // 0: it was never in the background
	back   bool          // it is in the background now
	behind chan struct{} // closed when it goes into the background for the first time
	open   *row          // the row that it writes, which has no line end yet
}

// name is what kill and fg call it, and what its lines are marked with.
func (j *job) name() string { return fmt.Sprintf("[%d]", j.number) }

func (j *job) mark() string {
	if !j.back {
		return ""
	}
	return j.name() + " "
}

func (j *job) end() {
	j.killed = true
	j.cancel()
}

// background takes a & off the end of a line, and reports whether there was one: the
// whole line is one command then. Of several, of which the last has a &, the shell says
// that it cannot do that.
func background(line string) (string, bool) {
	file, err := script.Parse(line, "")
	if err != nil || len(file.Stmts) != 1 || !file.Stmts[0].Background {
		return line, false
	}
	return strings.TrimSpace(line[:file.Stmts[0].Semicolon.Offset()]), true
}

// all are the commands that run; c.mu is held, as in what follows.
func (c *Console) all() []*job {
	if c.front == nil {
		return c.jobs
	}
	return append(slices.Clone(c.jobs), c.front)
}

// newest is the command that was put into the background last and has not been ended; nil: none.
func (c *Console) newest() *job {
	for _, j := range slices.Backward(c.jobs) {
		if !j.killed {
			return j
		}
	}
	return nil
}

// names are the numbers of what runs in the background, with its line if it is one.
func (c *Console) names() string {
	if len(c.jobs) == 1 {
		return c.jobs[0].mark() + grid.Cut(c.jobs[0].line, 30)
	}
	var all []string
	for _, j := range c.jobs {
		all = append(all, j.name())
	}
	return strings.Join(all, " ")
}

// putBehind gives a job its number, the one after the highest in use, and says it.
func (c *Console) putBehind(j *job) {
	if j.number == 0 {
		highest := 0
		for _, other := range c.all() {
			highest = max(highest, other.number)
		}
		j.number = highest + 1
		close(j.behind)
	}
	if c.front == j {
		c.front = nil
	}
	j.back = true
	c.jobs = append(c.jobs, j)
	c.tell(j.name()+" runs in the background: "+j.line, theme.Muted)
}

// Behind puts the command in the foreground into the background, so that the prompt is free, and reports
// whether there was one.
func (c *Console) Behind() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.front == nil {
		return false
	}
	c.tell("^Z", theme.Warn)
	c.putBehind(c.front)
	return true
}

// endNewest ends the newest command in the background, if none is in the foreground.
func (c *Console) endNewest() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.newest()
	if c.front != nil || j == nil {
		return false
	}
	j.end()
	c.tell("^C "+j.name(), theme.Warn)
	return true
}

// ended says how a command has ended.
func (c *Console) ended(j *job, code int) {
	if j.open != nil {
		c.write(j, nil, "\n", theme.Text)
	}
	j.over, j.exit = true, code
	if code != 0 {
		c.blame(j)
	}
	if c.front == j {
		c.front = nil
		if j.line == "help" {
			c.tell("jobs, fg, kill  a & at the end of a line, or ctrl+z, lets a command run in the background: jobs lists those, fg %1 brings one to the foreground, kill %1 ends it", theme.Text)
			c.tell("clear, exit     empty the console; close it", theme.Text)
		}
		if code != 0 {
			c.tell(fmt.Sprintf("exit status %d", code), theme.Bad)
		}
		c.version++
		return
	}
	c.jobs = slices.DeleteFunc(c.jobs, func(other *job) bool { return other == j })
	switch {
	case j.killed:
		c.tell(j.name()+" ended  "+j.line, theme.Warn)
	case code != 0:
		c.tell(fmt.Sprintf("%s exit status %d  %s", j.name(), code, j.line), theme.Bad)
	default:
		c.tell(j.name()+" done  "+j.line, theme.Good)
	}
}

// Jobs are the names of what runs in the background, for completion: %1, %2.
func (c *Console) Jobs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, j := range c.jobs {
		all = append(all, fmt.Sprintf("%%%d", j.number))
	}
	return all
}

// control answers the commands that are about what runs, and reports whether the words
// are one.
func (c *Console) control(words []string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch words[0] {
	case "jobs":
		for _, j := range c.jobs {
			state := ""
			if j.killed {
				state = "ending: "
			}
			c.tell(j.mark()+state+j.line, theme.Text)
		}
		if len(c.jobs) == 0 {
			c.tell("nothing runs in the background; a & at the end of a line, or ctrl+z while it runs, puts it there", theme.Muted)
		}
	case "kill":
		if len(words) == 1 {
			c.tell("kill: which? kill %1 ends the job [1]; jobs lists them; kviz fault crash pod/NAMESPACE/NAME kills a pod's processes", theme.Bad)
		}
		for _, w := range words[1:] {
			if strings.HasPrefix(w, "-") { // there is one way of ending it
				continue
			}
			if j := c.job(words[0], w); j != nil {
				j.end()
			}
		}
	case "fg":
		j := c.newest()
		if len(words) > 1 {
			if j = c.job(words[0], words[1]); j == nil {
				return true
			}
		}
		switch {
		case j == nil:
			c.tell("fg: nothing runs in the background", theme.Bad)
		case c.front != nil:
			c.tell("still running: "+c.front.line+"  (ctrl+z puts it into the background, ctrl+c ends it)", theme.Warn)
		default:
			c.jobs = slices.DeleteFunc(c.jobs, func(other *job) bool { return other == j })
			c.front, j.back = j, false
			c.tell(j.line, theme.Muted)
		}
	case "bg":
		c.tell("bg: what is in the background goes on by itself; jobs lists it", theme.Muted)
	default:
		return false
	}
	return true
}

// job is the job that a word names, %1; where there is none, it is said.
func (c *Console) job(command, word string) *job {
	n, err := strconv.Atoi(strings.TrimPrefix(word, "%"))
	for _, j := range c.jobs {
		if err == nil && j.number == n {
			return j
		}
	}
	c.tell(fmt.Sprintf("%s: %s: there is no such job; %s %%1 means the job [1], and jobs lists them", command, word, command), theme.Bad)
	return nil
}

// lending is how a job gets the terminal: one at a time, and none in the background,
// where an editor would open over what the person is typing.
func (c *Console) lending(j *job, lend control.Lend) control.Lend {
	if lend == nil {
		return nil
	}
	return func(ctx context.Context, dir string, argv []string) error {
		if err := c.borrow(j); err != nil {
			return err
		}
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.lent = nil
		}()
		return lend(ctx, dir, argv)
	}
}

func (c *Console) borrow(j *job) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.lent != nil:
		return fmt.Errorf("%w: %s has it; try again when that has ended", control.ErrNotLent, c.lent.line)
	case j.back:
		return fmt.Errorf("%w: this command runs in the background, and an editor would open over what is typed; run it again in the foreground", control.ErrNotLent)
	}
	c.lent = j
	return nil
}
