// Package languages has the programs of the console whose arguments are programs: awk
// (GoAWK) and jq (gojq).
//
// What such a program takes cannot be known from its text: thirty doublings of a string
// are a gigabyte, and no interpreter looks between two of them whether it should stop. So each use
// runs in a process of its own, as etcdctl does: this same program, started as awk. It is killed
// when its command ends, and ends by itself when it has taken [MostMemory] or [MostProcessor]. A
// program that imports this package, a test binary too, becomes awk when it is started that way,
// before its main.
//
// The process sees nothing of the console but an order (order.go): the text of the program, its
// variables and files. awk may open files itself where the console may, and nothing where
// what a stranger wrote runs; it starts no programs. Time is the cluster's.
//
// Start reading at [Run]; what the process does is in awk.go and jq.go, how it is held to its
// bounds in bounds.go.
package languages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"mvdan.cc/sh/v3/expand"

	"kviz/cluster/console/command"
	"kviz/cluster/simulated"
	"kviz/raftstore/host"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.TheConsole, How: simulated.Simplified,
	What: "jq is gojq: the keys of an object come out sorted, and errors have its words; awk is GoAWK, which has none of gawk's functions but strftime and systime, and starts no programs",
	Seen: "what awk and jq print in the console",
})

// which says as what a process was started, and where its order is.
const (
	which = "KVIZ_LANGUAGE"
	where = "KVIZ_ORDER"
)

// language is one of the programs: what it reads from its command line, and what its process does.
type language struct {
	parse func(inv *command.Invocation) (*order, error)
	run   func(*order, io.Reader, *flushed) int
	usage int // the exit status of a command line that cannot be read
}

var all = map[string]language{"awk": {parseAwk, runAwk, 2}, "jq": {parseJq, runJq, 2}}

// Names are the programs.
func Names() []string { return []string{"awk", "jq"} }

func init() {
	name := os.Getenv(which)
	if name == "" {
		return
	}
	os.Unsetenv(which)
	go func() { // nobody reads any more
		if host.AwaitParent() == nil {
			os.Exit(interrupted)
		}
	}()
	os.Exit(serve(name, os.Getenv(where)))
}

// interrupted is the exit status of a program whose command has ended.
const interrupted = 130

// order is what a process is to do.
type order struct {
	Program string
	Epoch   int64             // the cluster's time, in seconds since 1970
	Environ map[string]string `json:",omitempty"`
	Vars    []variable        `json:",omitempty"`
	Files   []file            `json:",omitempty"` // jq: its input, instead of the standard one
	Args    []string          `json:",omitempty"` // awk: its operands
	Alone   bool              `json:",omitempty"` // awk: it reaches no files
	Jq      jqOptions         `json:",omitzero"`
}

type variable struct {
	Name  string
	Value string
	JSON  bool `json:",omitempty"`
}

type file struct {
	Name string
	Data []byte
}

// mostRead is how many bytes of files an order may have.
const mostRead = 64 << 20

// mostWritten is how many bytes a program may print.
const mostWritten = 256 << 20

// Run is a command of the console that runs one of the programs.
func Run(ctx context.Context, inv *command.Invocation) int {
	name := inv.Args[0]
	l := all[name]
	o, err := l.parse(inv)
	if err != nil {
		fmt.Fprintf(inv.Err, "%s: %v\n", name, err)
		return l.usage
	}
	_ = inv.Kernel.Do(func() { o.Epoch = inv.Kernel.Now().Unix() })
	o.Environ = exported(inv.Env)
	exit, err := start(ctx, inv, o)
	if err != nil {
		fmt.Fprintf(inv.Err, "%s: %v\n", name, err)
	}
	return exit
}

func exported(env expand.Environ) map[string]string {
	names := map[string]string{}
	if env == nil {
		return names
	}
	env.Each(func(name string, v expand.Variable) bool {
		if v.Exported && v.Kind == expand.String {
			names[name] = v.Str
		}
		return true
	})
	return names
}

// start runs a process and gives its exit status.
func start(ctx context.Context, inv *command.Invocation, o *order) (exit int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 1, fmt.Errorf("this program does not find itself: %w", err)
	}
	at, err := o.write()
	if err != nil {
		return 1, err
	}
	defer os.Remove(at)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = []string{which + "=" + inv.Args[0], where + "=" + at, "TZ=UTC"}
	for _, name := range []string{"SYSTEMROOT", "TEMP"} { // without which nothing starts on Windows
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	out := &limited{w: inv.Out, left: mostWritten, over: cancel}
	errs := &limited{w: &strings.Builder{}, left: 1 << 20, over: func() {}}
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = inv.Dir, strings.NewReader(""), out, errs
	if inv.Piped {
		cmd.Stdin = inv.In
	}
	cmd.WaitDelay = time.Second // for an input that it has not read to its end
	ended, err := host.Start(cmd)
	if err != nil {
		return 1, err
	}
	stopWatching := make(chan struct{})
	watched := make(chan bool, 1)
	go func() { watched <- tooLarge(cmd.Process.Pid, stopWatching, cancel) }()
	err = errors.Join(cmd.Wait(), ended())
	close(stopWatching)
	large := <-watched
	said := errs.w.(*strings.Builder).String()
	if at := strings.Index(said, "runtime: goroutine stack exceeds"); at >= 0 {
		said = said[:at]
		err = errors.New("stopped: its data or its program is nested too deep")
	}
	_, _ = io.WriteString(inv.Err, said)
	var failed *exec.ExitError
	switch {
	case out.left < 0:
		return 2, fmt.Errorf("stopped after %d MiB of output", mostWritten>>20)
	case large:
		return 2, errMemory
	case ctx.Err() != nil:
		return interrupted, nil
	case errors.As(err, &failed):
		return max(failed.ExitCode(), 1), nil
	case errors.Is(err, exec.ErrWaitDelay), cmd.ProcessState.Success():
		return 0, nil
	}
	return 2, err
}

// write puts an order where the process finds it, which only its user can read.
func (o *order) write() (string, error) {
	b, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp("", "kviz-order-")
	if err != nil {
		return "", err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// limited lets so many bytes through, and then says that they are over.
type limited struct {
	w    io.Writer
	left int
	over func()
}

// Write is [io.Writer].
func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		l.over()
		return 0, io.ErrShortWrite
	}
	return l.w.Write(p)
}

// serve is what the process does.
func serve(name, at string) int {
	var o order
	b, err := os.ReadFile(at)
	if err == nil {
		err = json.Unmarshal(b, &o)
	}
	l, known := all[name]
	if err != nil || !known {
		fmt.Fprintf(os.Stderr, "kviz: %s %s: %v\n", name, at, err)
		return 1
	}
	out := newFlushed(os.Stdout)
	go watch(name, out)
	exit := l.run(&o, &flushing{os.Stdin, out}, out)
	if out.Flush() != nil {
		return 141 // nobody reads
	}
	return exit
}
