package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"kviz/cluster/console/command"
)

// Bounds of xargs: of the words of one command, of which a real system has as many, and of a word.
const (
	mostWords = 4096
	mostBytes = 128 << 10
)

// xargsUse is how xargs was called.
type xargsUse struct {
	command []string
	place   string // -I: what the line takes the place of
	most    int    // -n: words of one command
	lines   int    // -L
	sep     byte   // -d, -0; 0: blanks, with quotes
	own     bool   // sep counts
	empty   bool   // not -r: it runs once though there is nothing
	tells   bool   // -t
}

// xargs runs a command with the words that it reads: one command at a time, in their order.
func xargs(ctx context.Context, inv *command.Invocation) int {
	use, err := parseXargs(inv.Args[1:])
	if err != nil {
		fmt.Fprintf(inv.Err, "xargs: %v\n", err)
		return 1
	}
	r := &wordReader{r: bufio.NewReader(inv.In), sep: use.sep, own: use.own, lines: use.place != ""}
	exit, ran := 0, false
	run := func(words []string) bool {
		ran = true
		one := *inv
		one.In, one.Piped = strings.NewReader(""), true
		one.Args = append(append([]string{}, use.command...), words...)
		if use.place != "" {
			one.Args = nil
			for _, w := range use.command {
				one.Args = append(one.Args, strings.ReplaceAll(w, use.place, words[0]))
			}
		}
		if use.tells {
			fmt.Fprintln(inv.Err, quoteAll(one.Args))
		}
		switch code := session(ctx).words(ctx, &one); {
		case ctx.Err() != nil:
			exit = 130
			return false
		case code == 127:
			exit = 127
			return false
		case code == 255:
			fmt.Fprintf(inv.Err, "xargs: %s: exited with status 255; aborting\n", one.Args[0])
			exit = 124
			return false
		case code != 0:
			exit = 123
		}
		return true
	}
	for {
		words, err := r.group(use)
		if err != nil {
			fmt.Fprintf(inv.Err, "xargs: %v\n", err)
			return 1
		}
		if len(words) == 0 {
			break
		}
		if !run(words) {
			return exit
		}
	}
	if !ran && use.empty {
		run(nil)
	}
	return exit
}

func parseXargs(args []string) (*xargsUse, error) {
	use := &xargsUse{most: mostWords, empty: true}
	number := func(v, what string) (int, error) {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			return 0, fmt.Errorf("invalid number %q for %s option", v, what)
		}
		return n, nil
	}
	long := map[string]string{
		"--max-args": "-n", "--max-lines": "-L", "--replace": "-I", "--delimiter": "-d", "--max-procs": "-P", "--null": "-0", "--no-run-if-empty": "-r", "--verbose": "-t",
	}
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		if strings.HasPrefix(a, "--") {
			name, value, with := strings.Cut(a, "=")
			if long[name] == "" {
				return nil, fmt.Errorf("unrecognized option '%s' (this xargs knows -0, -d, -I, -L, -n, -P, -r, -t)", name)
			}
			if a = long[name] + value; name == "--replace" && !with {
				a = "-I{}"
			}
		}
		for i := 1; i < len(a); i++ {
			l := a[i]
			switch l {
			case 'r':
				use.empty = false
				continue
			case 't':
				use.tells = true
				continue
			case '0':
				use.sep, use.own = 0, true
				continue
			case 'i':
				if use.place = a[i+1:]; use.place == "" {
					use.place = "{}"
				}
			case 'I', 'n', 'L', 'd', 'P':
				v := a[i+1:]
				if v == "" {
					if len(args) == 0 {
						return nil, fmt.Errorf("option requires an argument -- '%c'", l)
					}
					v, args = args[0], args[1:]
				}
				var err error
				switch l {
				case 'I':
					use.place = v
				case 'n':
					if use.most, err = number(v, "-n"); err != nil {
						return nil, err
					}
					use.most = min(use.most, mostWords)
				case 'L':
					if use.lines, err = number(v, "-L"); err != nil {
						return nil, err
					}
				case 'd':
					if v = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\0`, "\x00").Replace(v); len(v) != 1 {
						return nil, fmt.Errorf("Invalid input delimiter specification %s: the delimiter must be either a single character or an escape sequence starting with \\.", v)
					}
					use.sep, use.own = v[0], true
				case 'P': // one command at a time: the trace is the same in every run
				}
			default:
				return nil, fmt.Errorf("invalid option -- '%c' (this xargs knows -0, -d, -I, -L, -n, -P, -r, -t)", l)
			}
			break
		}
	}
	if use.command = args; len(args) == 0 {
		use.command = []string{"echo"}
	}
	return use, nil
}

// wordReader reads xargs' words.
type wordReader struct {
	r     *bufio.Reader
	sep   byte
	own   bool
	lines bool // -I: a word is a line
	begun *string
}

// group is the words of one command.
func (w *wordReader) group(use *xargsUse) (words []string, err error) {
	most := use.most
	if use.place != "" {
		most = 1
	}
	size, lines := 0, 0
	for len(words) < most && (use.lines == 0 || lines < use.lines) {
		word, ends, more, err := w.next()
		if err != nil || !more {
			return words, err
		}
		if size += len(word) + 1; size > mostBytes {
			if len(words) == 0 {
				return nil, errors.New("argument line too long")
			}
			w.begun = &word
			return words, nil
		}
		words = append(words, word)
		if ends {
			lines++
		}
	}
	return words, nil
}

// next is a word, and whether its line ends with it.
func (w *wordReader) next() (word string, ends, more bool, err error) {
	if w.begun != nil {
		word, w.begun = *w.begun, nil
		return word, false, true, nil
	}
	var b strings.Builder
	begun := false
	quote := byte(0)
	for {
		c, err := w.r.ReadByte()
		if err != nil && !errors.Is(err, io.EOF) {
			return "", false, false, err
		}
		end := err != nil
		if b.Len() > mostBytes {
			return "", false, false, errors.New("argument line too long")
		}
		switch {
		case end && quote != 0:
			return "", false, false, w.unmatched(quote)
		case end:
			return b.String(), true, begun, nil
		case w.own:
			if c == w.sep {
				return b.String(), true, true, nil
			}
			b.WriteByte(c)
			begun = true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0 && c == '\n':
			return "", false, false, w.unmatched(quote)
		case quote != 0:
			b.WriteByte(c)
		case c == '\'' || c == '"':
			quote, begun = c, true
		case c == '\\':
			if c, err = w.r.ReadByte(); err == nil {
				b.WriteByte(c)
				begun = true
			}
		case c == '\n' || (c == ' ' || c == '\t') && !w.lines:
			if !begun {
				continue
			}
			return b.String(), c == '\n' || w.lineEnds(), true, nil
		case (c == ' ' || c == '\t') && !begun: // before a line
		default:
			b.WriteByte(c)
			begun = true
		}
	}
}

// lineEnds reports whether nothing but blanks stands before the next newline, and reads up to there.
func (w *wordReader) lineEnds() bool {
	for {
		c, err := w.r.ReadByte()
		if err != nil || c == '\n' {
			return true
		}
		if c != ' ' && c != '\t' {
			_ = w.r.UnreadByte()
			return false
		}
	}
}

func (w *wordReader) unmatched(quote byte) error {
	kind := "single"
	if quote == '"' {
		kind = "double"
	}
	return fmt.Errorf("unmatched %s quote; by default quotes are special to xargs unless you use the -0 option", kind)
}
