// Package mounttest is the program with which Kubernetes' own end-to-end tests look at
// the volumes of a container: agnhost mounttest, which prints a file and its mode, and ends.
//
// Mirrors test/images/agnhost/mounttest of k8s.io/kubernetes v1.37. Simplified: only
// --file_mode, --file_perm, --file_content and --file_content_in_loop (with --retry_time and
// --break_on_expected_content) are simulated, and each file has the mode 0644, the one that
// Kubernetes gives files of volumes when nobody asks for another. Start reading at [Start].
package mounttest

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"kviz/cluster/remote"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Containers, How: simulated.Simplified,
	What: "the program mounttest of Kubernetes' end-to-end tests (agnhost mounttest) prints what is in files and the mode 0644; it writes no files, and knows neither owners nor file systems",
	Seen: "kubectl logs",
})

// Image is the image and its argument.
const Image = "registry.k8s.io/e2e-test-images/agnhost mounttest"

// startTime is how long the program takes to its first line.
const startTime = 20 * time.Millisecond

// mode is every file's: files here have none of their own.
const mode fs.FileMode = 0o644

// program serves nothing.
type program struct{}

// Serve breaks the connection: nothing listens.
func (program) Serve(*sim.Task, *remote.Request) (remote.Answer, error) {
	return remote.Answer{}, io.EOF
}

// Start begins the program in a container.
func Start(in runtime.Instance) runtime.Program {
	in.Process.Go("main", func(t *sim.Task) {
		t.Sleep(startTime)
		code := int32(0)
		if err := run(t, in); err != nil {
			code = 1
		}
		in.Exit(code, t.Causes()...)
	})
	return program{}
}

// flags are what the program is asked for.
type flags struct {
	mode, perm, content, loop string
	retry                     int
	once                      bool // the loop ends at what it expects
}

func parse(args []string) (f flags, err error) {
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") { // agnhost, mounttest
		args = args[1:]
	}
	set := flag.NewFlagSet("mounttest", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&f.mode, "file_mode", "", "")
	set.StringVar(&f.perm, "file_perm", "", "")
	set.StringVar(&f.content, "file_content", "", "")
	set.StringVar(&f.loop, "file_content_in_loop", "", "")
	set.IntVar(&f.retry, "retry_time", 180, "")
	set.BoolVar(&f.once, "break_on_expected_content", true, "")
	return f, set.Parse(args)
}

// run does what the flags say, in upstream's order (main), and gives the errors of all.
func run(t *sim.Task, in runtime.Instance) error {
	f, err := parse(in.Command)
	if err != nil {
		in.Log(fmt.Sprintf("Error: %v (kviz simulates no other flags of mounttest)", err))
		return err
	}
	return errors.Join(f.show(in, f.mode, "mode", mode), f.show(in, f.perm, "perms", mode.Perm()), f.print(in), f.watch(t, in))
}

// show is fileMode, and filePerm.
func (flags) show(in runtime.Instance, file, what string, is fs.FileMode) error {
	if file == "" {
		return nil
	}
	if _, err := in.Read(file); err != nil {
		in.Log(fmt.Sprintf("error from Stat(%q): stat %s: no such file or directory", file, file))
		return err
	}
	in.Log(fmt.Sprintf("%s of file %q: %v", what, file, is))
	return nil
}

// print is readFileContent.
func (f flags) print(in runtime.Instance) error {
	if f.content == "" {
		return nil
	}
	text, err := in.Read(f.content)
	if err != nil {
		in.Log(fmt.Sprintf("error reading file content for %q: %v", f.content, err))
		return err
	}
	in.Log(fmt.Sprintf("content of file %q: %s", f.content, text))
	return nil
}

// What the loop waits for, and how often it looks (testFileContent).
const (
	expected  = "mount-tester new file\n"
	lookEvery = 2 * time.Second
)

// watch is testFileContent.
func (f flags) watch(t *sim.Task, in runtime.Instance) (err error) {
	if f.loop == "" {
		return nil
	}
	for until := t.Elapsed() + time.Duration(f.retry)*time.Second; t.Elapsed() < until; t.Sleep(lookEvery) {
		var text []byte
		if text, err = in.Read(f.loop); err != nil {
			in.Log(fmt.Sprintf("Error reading file %s: %v, retrying", f.loop, err))
			continue
		}
		in.Log(fmt.Sprintf("content of file %q: %s", f.loop, text))
		if !f.once {
			continue
		}
		if string(text) == expected {
			break
		}
		in.Log("Unexpected content. Expected: " + expected + ". Retrying")
	}
	return err
}
