package languages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/benhoyt/goawk/interp"
	"github.com/benhoyt/goawk/lexer"
	"github.com/benhoyt/goawk/parser"
	"github.com/itchyny/timefmt-go"

	"kviz/cluster/console/command"
)

const awkUsage = "usage: awk [-F SEPARATOR] [-v VAR=VALUE] 'PROGRAM' | -f PROGRAMFILE [FILE]..."

// assignment is an operand of awk that sets a variable.
var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// parseAwk reads awk's command line.
func parseAwk(inv *command.Invocation) (*order, error) {
	o := &order{Alone: inv.Within != nil}
	var programs []string
	args := inv.Args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		letter, value := a[1], a[2:]
		if strings.IndexByte("Fvf", letter) < 0 {
			return nil, fmt.Errorf("unknown option %s (this awk knows -F, -v and -f)", a)
		}
		if value == "" {
			if len(args) == 0 {
				return nil, fmt.Errorf("option -%c requires an argument", letter)
			}
			value, args = args[0], args[1:]
		}
		switch letter {
		case 'F':
			if value == "t" {
				value = `\t`
			}
			o.Vars = append(o.Vars, variable{Name: "FS", Value: value})
		case 'v':
			name, v, ok := strings.Cut(value, "=")
			if !ok || !assignment.MatchString(value) {
				return nil, fmt.Errorf("-v %q: want NAME=VALUE", value)
			}
			o.Vars = append(o.Vars, variable{Name: name, Value: v})
		case 'f':
			b, err := read(inv, value, mostRead)
			if err != nil {
				return nil, err
			}
			programs = append(programs, string(b))
		}
	}
	if programs == nil {
		if len(args) == 0 {
			return nil, errors.New(awkUsage)
		}
		programs, args = args[:1:1], args[1:]
	}
	o.Program = strings.Join(programs, "\n")
	o.Args = slices.Clone(args)
	return o, o.operands(inv)
}

// operands has awk find its files. Those of the disk it opens itself; one that only the console knows, or
// that what a stranger wrote may read, becomes its standard input.
func (o *order) operands(inv *command.Invocation) error {
	var files []int
	for i, a := range o.Args {
		if a != "" && a != "-" && !assignment.MatchString(a) {
			files = append(files, i)
		}
	}
	for _, i := range files {
		name := o.Args[i]
		if !o.Alone {
			path, err := inv.Path(name)
			if err != nil {
				return err
			}
			if _, err := os.Stat(path); err == nil {
				continue
			}
		}
		if len(files) > 1 {
			if _, err := inv.Files.Open(name); err != nil {
				return fmt.Errorf("can't open file %s: no such file", name)
			}
			return fmt.Errorf("%s: awk reads several files only from the disk, and not in the script of a lesson out of a bundle: use cat", name)
		}
		f, err := inv.Files.Open(name)
		if err != nil {
			return fmt.Errorf("can't open file %s: no such file", name)
		}
		inv.In, inv.Piped = f, true
		o.Args[i] = "-"
	}
	return nil
}

// read is a file that the command line names.
func read(inv *command.Invocation, name string, most int) ([]byte, error) {
	r, err := inv.Files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("can't open file %s: no such file", name)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err == nil && len(b) > most {
		err = fmt.Errorf("%s has more than %d MiB", name, most>>20)
	}
	return b, err
}

// runAwk runs a program of awk.
func runAwk(o *order, in io.Reader, out *flushed) int {
	funcs := awkFunctions(time.Unix(o.Epoch, 0).UTC())
	prog, err := parser.ParseProgram([]byte(seeded(o.Program, o.Epoch)), &parser.ParserConfig{Funcs: funcs})
	if err != nil {
		fmt.Fprintf(os.Stderr, "awk: %v\n", err)
		return 2
	}
	config := &interp.Config{
		Stdin: in, Output: out, Error: os.Stderr, Argv0: "awk", Args: o.Args, Funcs: funcs, Chars: true,
		NoExec: true, NoFileReads: o.Alone, NoFileWrites: o.Alone, Environ: []string{},
	}
	if o.Alone && !slices.ContainsFunc(o.Args, func(a string) bool { return a != "-" && a != "" && !assignment.MatchString(a) }) {
		config.Args = slices.DeleteFunc(slices.Clone(o.Args), func(a string) bool { return a == "-" })
	}
	for _, name := range slices.Sorted(maps.Keys(o.Environ)) {
		config.Environ = append(config.Environ, name, o.Environ[name])
	}
	for _, v := range o.Vars {
		value, err := lexer.Unescape(v.Value)
		if err != nil {
			value = v.Value
		}
		config.Vars = append(config.Vars, v.Name, value)
	}
	awk, err := interp.New(prog)
	if err != nil {
		fmt.Fprintf(os.Stderr, "awk: %v\n", err)
		return 2
	}
	exit, err := awk.ExecuteContext(context.Background(), config)
	if err != nil {
		text := err.Error()
		for _, no := range []string{" due to NoExec", " due to NoFileReads", " due to NoFileWrites"} {
			if before, is := strings.CutSuffix(text, no); is {
				text = before + ": the console runs no other programs"
				if no != " due to NoExec" {
					text = before + ": the script of a lesson out of a bundle reaches no files"
				}
			}
		}
		_ = out.Flush()
		fmt.Fprintf(os.Stderr, "awk: %s\n", text)
		return 2
	}
	return exit
}

// seeded gives srand(), which seeds with the machine's time, the cluster's.
func seeded(program string, epoch int64) string {
	lines := strings.SplitAfter(program, "\n")
	offset := func(p lexer.Position) int { // columns count bytes from 1
		at := p.Column - 1
		for i := range p.Line - 1 {
			at += len(lines[i])
		}
		return at
	}
	var out strings.Builder
	copied := 0
	l := lexer.NewLexer([]byte(program))
	before := lexer.NEWLINE
	for {
		at, tok, _ := l.Scan()
		if tok == lexer.DIV || tok == lexer.DIV_ASSIGN {
			switch before { // behind which a slash divides
			case lexer.NAME, lexer.NUMBER, lexer.STRING, lexer.RPAREN, lexer.RBRACKET, lexer.DOLLAR, lexer.INCR, lexer.DECR, lexer.F_LENGTH:
			default:
				_, tok, _ = l.ScanRegex()
			}
		}
		if tok == lexer.EOF || tok == lexer.ILLEGAL {
			break // what is no program the parser refuses
		}
		if tok != lexer.F_SRAND {
			before = tok
			continue
		}
		begin := offset(at)
		rest := program[begin+len("srand"):]
		open := strings.TrimLeft(rest, " \t")
		before = tok
		if args, has := strings.CutPrefix(open, "("); has {
			if end, empty := strings.CutPrefix(strings.TrimLeft(args, " \t"), ")"); empty {
				out.WriteString(program[copied:begin] + fmt.Sprintf("srand(%d)", epoch))
				copied = len(program) - len(end)
			}
			continue
		}
		out.WriteString(program[copied:begin] + fmt.Sprintf("srand(%d)", epoch))
		copied = begin + len("srand")
	}
	return out.String() + program[copied:]
}

// awkFunctions are gawk's about time, which is the cluster's.
func awkFunctions(now time.Time) map[string]any {
	return map[string]any{
		"systime": func() int64 { return now.Unix() },
		"strftime": func(args ...string) string {
			format, at := "%a %b %e %H:%M:%S UTC %Y", now
			if len(args) > 0 {
				format = args[0]
			}
			if len(args) > 1 {
				if f, err := strconv.ParseFloat(args[1], 64); err == nil {
					at = time.Unix(int64(f), 0).UTC()
				}
			}
			if len(format) > 4096 {
				format = format[:4096]
			}
			return timefmt.Format(at, format)
		},
	}
}
