// Command secondlook runs go test, and runs each test that fails again, alone and with the same
// seeds, up to twice:
//
//	secondlook test [-notes FILE] PACKAGE... [-- FLAG...]
//	secondlook list FILE
//
// A test that passes then is unsteady: the run goes on, and the test is printed with how it failed
// and added to the notes. The run fails when a test fails each time, when more than five fail, and at a
// data race or a panic, which hide what the other tests would have said.
//
// list reads the tests that are known to be unsteady (a date, the package and the test, what is
// known), and fails where one has been so for more than two weeks. FILE may be empty, at best.
//
// gotestsum does the work; this program adds what it does not tell.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"gotest.tools/gotestsum/cmd"
)

func main() {
	if err := run(os.Args[1:], time.Now(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "secondlook:", err)
		os.Exit(1)
	}
}

func run(args []string, now time.Time, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("usage: secondlook test PACKAGE... or secondlook list FILE")
	}
	switch args[0] {
	case "test":
		return test(args[1:], out)
	case "list":
		if len(args) != 2 {
			return errors.New("usage: secondlook list FILE")
		}
		return list(args[1], now, out)
	}
	return fmt.Errorf("unknown command %q: it is test or list", args[0])
}

// test runs the tests and tells which of them are unsteady.
func test(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("test", flag.ContinueOnError)
	notes := flags.String("notes", "", "the file to which unsteady tests are added")
	if err := flags.Parse(args); err != nil {
		return err
	}
	packages, options := flags.Args(), []string(nil)
	if i := slices.Index(packages, "--"); i >= 0 {
		packages, options = packages[:i], packages[i+1:]
	}
	dir, err := os.MkdirTemp("", "secondlook")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	events := filepath.Join(dir, "events")
	all := append([]string{
		"--format=standard-quiet", "--format-hide-empty-pkg", "--hide-summary=skipped",
		"--rerun-fails=2", "--rerun-fails-max-failures=5", "--rerun-fails-abort-on-data-race",
		"--packages=" + strings.Join(packages, " "), "--jsonfile=" + events, "--",
	}, options...)
	if err := cmd.Run("gotestsum", all); err != nil {
		return err
	}
	f, err := os.Open(events)
	if err != nil {
		return err
	}
	defer f.Close()
	failed, err := failures(f)
	if err != nil {
		return err
	}
	return tell(failed, *notes, out)
}

// name is a test of a package.
type name struct{ Package, Test string }

func (n name) String() string { return n.Package + "." + n.Test }

// failures reads go test's events: of each test that failed, what it printed when it did first.
func failures(events io.Reader) (map[name]string, error) {
	failed, printed := map[name]string{}, map[name]*strings.Builder{}
	for in := json.NewDecoder(events); ; {
		var e struct{ Action, Package, Test, Output string }
		switch err := in.Decode(&e); {
		case errors.Is(err, io.EOF):
			return failed, nil
		case err != nil:
			return nil, fmt.Errorf("go test's events: %w", err)
		case e.Test == "":
			continue
		}
		n := name{e.Package, e.Test}
		switch e.Action {
		case "run":
			printed[n] = &strings.Builder{}
		case "output":
			if b := printed[n]; b != nil {
				b.WriteString(e.Output)
			}
		case "fail":
			if _, again := failed[n]; !again && printed[n] != nil {
				failed[n] = printed[n].String()
			}
		}
	}
}

// tell prints each test that failed and passed then, and adds it to the notes.
func tell(failed map[name]string, notes string, out io.Writer) error {
	if len(failed) == 0 {
		return nil
	}
	var text strings.Builder
	for _, n := range slices.SortedFunc(maps.Keys(failed), func(a, b name) int { return cmp.Compare(a.String(), b.String()) }) {
		fmt.Fprintf(&text, "unsteady: %s failed, and passed when it was run again:\n", n)
		for _, line := range lastLines(failed[n], 40) {
			fmt.Fprintf(&text, "    %s\n", line)
		}
	}
	fmt.Fprint(out, text.String())
	if notes == "" {
		return nil
	}
	f, err := os.OpenFile(notes, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text.String())
	return errors.Join(err, f.Close())
}

func lastLines(text string, n int) []string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return lines[max(0, len(lines)-n):]
}

// patience is for how long a test may be known to be unsteady.
const patience = 14 * 24 * time.Hour

var entry = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2}) (\S+\.Test\S*) (.+)$`)

// list prints what is known to be unsteady.
func list(path string, now time.Time, out io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var wrong []error
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := entry.FindStringSubmatch(line)
		if fields == nil {
			wrong = append(wrong, fmt.Errorf("%s:%d: an entry is a date, package.Test and what is known of it: %s", path, n, line))
			continue
		}
		since, err := time.Parse(time.DateOnly, fields[1])
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s:%d: %w", path, n, err))
			continue
		}
		fmt.Fprintln(out, "known to be unsteady:", line)
		if now.Sub(since) > patience {
			wrong = append(wrong, fmt.Errorf("%s:%d: %s has been unsteady for more than two weeks: mend it, or its test", path, n, fields[2]))
		}
	}
	return errors.Join(append(wrong, lines.Err())...)
}
