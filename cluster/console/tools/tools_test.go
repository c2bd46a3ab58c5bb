package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kviz/raftstore/steady"
)

// memory is files that are in memory.
type memory map[string]*bytes.Buffer

func (m memory) Open(name string) (io.ReadCloser, error) {
	b, there := m[name]
	if !there {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return io.NopCloser(bytes.NewReader(b.Bytes())), nil
}

type written struct{ *bytes.Buffer }

func (written) Close() error { return nil }

func (m memory) Create(name string, atEnd bool) (io.WriteCloser, error) {
	if m[name] == nil || !atEnd {
		m[name] = &bytes.Buffer{}
	}
	return written{m[name]}, nil
}

func (m memory) List(name string) ([]string, error) { return []string{name}, nil }

// use runs a tool and gives what it printed to either stream.
func use(ctx context.Context, in io.Reader, args ...string) (out, errs string, exit int) {
	var o, e bytes.Buffer
	exit, _ = Run(Use{
		Context: ctx, Args: args, In: in, Out: &o, Err: &e, Now: func() time.Time { return time.Unix(0, 0) },
		Files: memory{"f": bytes.NewBufferString("one\ntwo\nthree\n"), "g": bytes.NewBufferString("one\n2\nthree")},
	})
	return o.String(), e.String(), exit
}

// endless is an input that has no end: the same text again and again.
type endless struct {
	text string
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	for n := 0; n < len(p); n += copy(p[n:], e.text) {
	}
	return len(p), nil
}

// What keeps its input stops when that gets too large, and says so.
func TestWhatIsHeldIsBounded(t *testing.T) {
	for _, args := range [][]string{
		{"sort"},
		{"tac"},
		{"column"},
		{"column", "-t"},
		{"base64"},
		{"base64", "-d"},
		{"hexdump", "-C"},
		{"tail", "-n", "2000000000"},
		{"head", "-c", "-1"},
		{"diff", "-", "f"},
		{"sed", "H;d"},
		{"sed", ":a;N;ba"},
		{"sed", "-n", ":a;s/.*/&&/;ta"},
		{"sed", ":a;G;h;ba"},
	} {
		in := &endless{text: strings.Repeat("x", 1023) + "\n"}
		out, errs, exit := use(t.Context(), in, args...)
		if exit == 0 || !strings.Contains(errs, "MiB") && !strings.Contains(errs, "too long") {
			t.Errorf("%q: exit %d, %.100q, %q", args, exit, out, errs)
		}
		if in.read > 2*MostHeld {
			t.Errorf("%q has read %d bytes", args, in.read)
		}
	}
}

// A line without an end is too long for every tool that reads lines.
func TestALineIsBounded(t *testing.T) {
	for _, args := range [][]string{{"grep", "y"}, {"sort"}, {"uniq"}, {"cut", "-f1"}, {"sed", "s/y/z/"}, {"head", "-1"}, {"tail", "-1"}, {"nl"}, {"rev"}, {"cat", "-n"}} {
		if _, errs, exit := use(t.Context(), &endless{text: "x"}, args...); exit == 0 || !strings.Contains(errs, "MiB") {
			t.Errorf("%q: exit %d, %q", args, exit, errs)
		}
	}
}

// A tool that would go on for ever ends when its context does.
func TestAToolEndsWithItsContext(t *testing.T) {
	for _, args := range [][]string{
		{"cat"},
		{"cat", "-n"},
		{"grep", "nothing"},
		{"sed", "d"},
		{"sed", "-n", "p"},
		{"tr", "a", "b"},
		{"tr", "-d", "x\n"},
		{"wc"},
		{"tail", "-1"},
		{"uniq", "-u"},
		{"cut", "-s", "-f2"},
		{"seq", "1", "99999999999"},
		{"strings"},
		{"tee", "a"},
		{"head", "-n", "2000000000"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		in := &cancels{endless: endless{text: "xyz\n"}, after: 1 << 20, cancel: cancel}
		var out cancelsWriting
		out.after, out.cancel = 1<<20, cancel
		exit, _ := Run(Use{Context: ctx, Args: args, In: in, Out: &out, Err: io.Discard, Files: memory{}})
		if exit != Interrupted {
			t.Errorf("%q ended with %d", args, exit)
		}
		cancel()
	}
}

type cancels struct {
	endless
	after  int
	cancel func()
}

func (c *cancels) Read(p []byte) (int, error) {
	if c.read > c.after {
		c.cancel()
	}
	return c.endless.Read(p)
}

type cancelsWriting struct {
	n, after int
	cancel   func()
}

func (c *cancelsWriting) Write(p []byte) (int, error) {
	if c.n += len(p); c.n > c.after {
		c.cancel()
	}
	return len(p), nil
}

// A script that never comes to its end on a line is stopped after so many commands.
func TestASedScriptWithoutAnEndIsStopped(t *testing.T) {
	if _, errs, exit := use(t.Context(), strings.NewReader("x\n"), "sed", ":a;ba"); exit != 1 || !strings.Contains(errs, "commands have run on line 1") {
		t.Errorf("exit %d: %s", exit, errs)
	}
}

// A tool writes so much and no more.
func TestOutputIsBounded(t *testing.T) {
	var n counting
	var errs bytes.Buffer
	exit, _ := Run(Use{Context: t.Context(), Args: []string{"cat"}, In: &endless{text: "x\n"}, Out: &n, Err: &errs, Files: memory{}})
	if exit != 2 || n > MostWritten || !strings.Contains(errs.String(), "256 MiB of output") {
		t.Errorf("exit %d after %d bytes: %s", exit, n, errs.String())
	}
}

type counting int

func (c *counting) Write(p []byte) (int, error) { *c += counting(len(p)); return len(p), nil }

// When the reader has gone, the tool ends without a word.
func TestNobodyReads(t *testing.T) {
	r, w := io.Pipe()
	_ = r.Close()
	var errs bytes.Buffer
	exit, _ := Run(Use{Context: t.Context(), Args: []string{"seq", "99999999"}, Out: w, Err: &errs, Files: memory{}})
	if exit != 141 || errs.Len() > 0 {
		t.Errorf("exit %d: %s", exit, errs.String())
	}
}

// Patterns are bounded by what matching costs, and what RE2 cannot do is refused.
func TestPatternsAreBounded(t *testing.T) {
	for _, args := range [][]string{
		{"grep", "-E", strings.Repeat("(", 200) + "a" + strings.Repeat("{1,900})", 200)},
		{"grep", "-E", "((a{1,900}){1,900}){1,900}"},
		{"sed", "-E", "s/(x{1,900}){1,900}/y/"},
		{"grep", "\\(a\\)\\1"},
		{"sed", "s/\\(a\\)\\1/b/"},
		{"grep", strings.Repeat("a", 200_000)},
	} {
		if _, errs, exit := use(t.Context(), strings.NewReader("x\n"), args...); exit == 0 || exit == Interrupted || errs == "" {
			t.Errorf("%.60q: exit %d, %q", args, exit, errs)
		}
	}
	in := strings.NewReader(strings.Repeat("a", 1<<20) + "\n")
	if _, errs, exit := use(t.Context(), in, "grep", "-E", "(a{0,100}){0,8}b"); exit != 2 || !strings.Contains(errs, "too long for a pattern") {
		t.Errorf("a long line: exit %d, %q", exit, errs)
	}
}

// What diff leaves unmarked is the same in both texts, and there is no shorter difference where
// there is none at all.
func TestDiffMarksWhatDiffers(t *testing.T) {
	steady.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", ""}), 0, 30)
		a, b := &text{lines: lines.Draw(t, "a"), ends: true}, &text{lines: lines.Draw(t, "b"), ends: true}
		a.changed, b.changed = make([]bool, len(a.lines)), make([]bool, len(b.lines))
		intern(options{}, a, b)
		compare(&Use{Context: context.Background()}, a, b)
		common := func(x *text) (left []string) {
			for i, l := range x.lines {
				if !x.changed[i] {
					left = append(left, l)
				}
			}
			return left
		}
		if x, y := common(a), common(b); !slices.Equal(x, y) {
			t.Fatalf("common lines %q and %q", x, y)
		} else if want := longestCommon(a.lines, b.lines); len(x) != want {
			t.Fatalf("%d lines in common, there are %d", len(x), want)
		}
		for _, h := range hunksOf(a, b) {
			if h.a0 == h.a1 && h.b0 == h.b1 {
				t.Fatalf("an empty hunk: %v", h)
			}
		}
	})
}

// longestCommon is the length of a longest common subsequence.
func longestCommon(a, b []string) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		before := 0
		for j, y := range b {
			was := row[j+1]
			if x == y {
				row[j+1] = before + 1
			} else {
				row[j+1] = max(row[j+1], row[j])
			}
			before = was
		}
	}
	return row[len(b)]
}

// FuzzSed: whatever the script, sed comes back, within its bounds.
func FuzzSed(f *testing.F) {
	for _, script := range []string{
		"s/a/b/g", ":a;N;$!ba;s/\\n/,/g", "2,$d", "/x/,/y/{s/\\(a\\)/\\1/2;p}", "y/ab/ba/", "1~2!G;h", "0,/re/d", "a\\\ntext", "$!{N;D}", "s|x|\\U&\\E|Iw /dev/stdout",
		"/[]/]/d", "s/[^/]*//", "\\,x,d", "s/\\n/\\t/;l", "q5", "{{}}", "s/a*/-/g", "tx;:x", "1,+3c\\", "s/\\(/x/",
	} {
		f.Add(script, false)
	}
	f.Fuzz(func(t *testing.T, script string, extended bool) {
		args := []string{"sed", "-e", script}
		if extended {
			args = append(args, "-E")
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		in := &few{lines: 50}
		out := &cancelsWriting{after: 1 << 20, cancel: cancel}
		var errs bytes.Buffer
		exit, _ := Run(Use{Context: ctx, Args: args, In: in, Out: out, Err: &errs, Files: memory{"f": bytes.NewBufferString("x")}})
		if exit == 1 && errs.Len() == 0 && !strings.ContainsAny(script, "qQ") {
			t.Errorf("%q failed without a word", script)
		}
	})
}

// few is some lines.
type few struct{ lines int }

func (f *few) Read(p []byte) (int, error) {
	if f.lines == 0 {
		return 0, io.EOF
	}
	f.lines--
	return copy(p, fmt.Sprintf("line %d a/b [x]\n", f.lines)), nil
}

// FuzzPattern: a translated pattern compiles, or says why not.
func FuzzPattern(f *testing.F) {
	for _, p := range []string{"a*", "\\(a\\|b\\)*", "[]a-z]", "[^]]", "a\\{2,3\\}", "*a", "^*", "a**", "(a|b){1,2}+", "\\<x\\>", "[[:alpha:]_-]", "[a\\]", "a{,3}", "x{", "{1}", "()", "|", "^(*a)$", "\\"} {
		f.Add(p, true)
		f.Add(p, false)
	}
	f.Fuzz(func(t *testing.T, text string, ere bool) {
		in := basic
		if ere {
			in = extended
		}
		p, err := compile(text, in, false)
		if err == nil {
			p.MatchString("aab")
		} else if err.Error() == "" {
			t.Errorf("%q: an error without words", text)
		}
	})
}

// FuzzTools: whatever options and operands a tool gets, it comes back with an exit status, and with a
// word where it could not do what it was told.
func FuzzTools(f *testing.F) {
	for _, line := range []string{
		"sort -k2,2nr -t:", "sort -k1.2,1.4bf", "cut -d: -f1-3,5- --complement", "tr a-z A-Z", "tr -cd [:alpha:][x*3]", "uniq -c -f1 -s2 -w3", "head -n -2", "tail -c +3",
		"column -t -s: -o| -N a,b", "column -c 40", "seq 1 0.5 3", "seq -w 9 11", "date -d yesterday +%Y", "date -Iseconds", "grep -A1 -B2 -n x", "grep -ow a|b", "diff -u f g", "diff -U0 f g",
		"nl -b a -w 3", "base64 -w 3", "xxd -l 3", "hexdump -C", "strings -n 2", "wc -lwcmL", "tee -a f", "date -d @1", "date +%s%N%%",
	} {
		f.Add(line, "a:b c\na:b c\n\nx\x00y\xffz")
	}
	f.Fuzz(func(t *testing.T, line, in string) {
		args := strings.Fields(line)
		if len(args) == 0 || !slices.Contains(Names(), args[0]) {
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var errs bytes.Buffer
		exit, _ := Run(Use{
			Context: ctx, Args: args, In: strings.NewReader(in), Out: &cancelsWriting{after: 1 << 20, cancel: cancel}, Err: &errs, Now: func() time.Time { return time.Unix(0, 0) },
			Files: memory{"f": bytes.NewBufferString("one\ntwo\n"), "g": bytes.NewBufferString("two\n")},
		})
		if exit > 1 && exit != Interrupted && errs.Len() == 0 && args[0] != "sed" && args[0] != "grep" {
			t.Errorf("%q: exit %d without a word", args, exit)
		}
	})
}

// Every error of a tool that does not know an option names those that it knows.
func TestUnknownOptionsAreRefusedByName(t *testing.T) {
	for _, name := range Names() {
		if slices.Contains([]string{"seq"}, name) {
			continue
		}
		_, errs, exit := use(t.Context(), strings.NewReader(""), name, "--no-such-option")
		if exit == 0 || !strings.Contains(errs, "no-such-option") {
			t.Errorf("%s: exit %d, %q", name, exit, errs)
		}
	}
	if !errors.Is(because(fs.ErrPermission), fs.ErrPermission) {
		t.Error("an error that is none of a path is not handed on")
	}
}
