package languages

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"

	"kviz/cluster/console/command"
)

// jqOptions is how jq reads and prints.
type jqOptions struct {
	Null    bool `json:",omitempty"` // -n
	Slurp   bool `json:",omitempty"`
	RawIn   bool `json:",omitempty"`
	Raw     bool `json:",omitempty"` // -r
	Join    bool `json:",omitempty"`
	ASCII   bool `json:",omitempty"`
	Status  bool `json:",omitempty"` // -e
	Indent  int  // -1: on one line
	Tab     bool `json:",omitempty"`
	Args    []variable
	Program string // what the program is called in errors
}

const jqUsage = "usage: jq [OPTION]... FILTER [FILE]...   (jq -r, -c, -n, -s, -e, -j, -R, -S, -a, --arg NAME VALUE, --argjson NAME JSON, --slurpfile NAME FILE, --rawfile NAME FILE, -f FILE, --args, --jsonargs, --tab, --indent N)"

// jqFlags are jq's options without a value, each with its letter.
var jqFlags = map[string]byte{
	"null-input": 'n', "slurp": 's', "raw-input": 'R', "raw-output": 'r', "join-output": 'j', "ascii-output": 'a', "compact-output": 'c',
	"sort-keys": 'S', "exit-status": 'e', "monochrome-output": 'M', "color-output": 'C', "from-file": 'f', "unbuffered": 'u', "help": 'h', "version": 'V', "tab": 't',
}

// parseJq reads jq's command line.
func parseJq(inv *command.Invocation) (*order, error) {
	o := &order{Jq: jqOptions{Indent: 2}}
	var operands []string
	fromFile, rest := false, byte(0) // rest: what operands are, after --args (a) or --jsonargs (j)
	args := inv.Args[1:]
	size := 0
	named := func(n int) ([]string, error) {
		if len(args) < n {
			return nil, errors.New(jqUsage)
		}
		taken := args[:n]
		args = args[n:]
		return taken, nil
	}
	for options := true; len(args) > 0; {
		a := args[0]
		args = args[1:]
		if !options || len(a) < 2 || a[0] != '-' {
			if rest != 0 && (len(operands) > 0) {
				o.Jq.Args = append(o.Jq.Args, variable{Value: a, JSON: rest == 'j'})
			} else {
				operands = append(operands, a)
			}
			continue
		}
		letters := a[1:]
		if long, is := strings.CutPrefix(a, "--"); is {
			switch long {
			case "":
				options = false
				continue
			case "args", "jsonargs":
				rest = long[0]
				continue
			case "arg", "argjson", "slurpfile", "rawfile", "argfile":
				v, err := named(2)
				if err != nil {
					return nil, err
				}
				one := variable{Name: v[0], Value: v[1], JSON: long == "argjson"}
				if strings.HasSuffix(long, "file") {
					b, err := read(inv, v[1], mostRead-size)
					if err != nil {
						return nil, err
					}
					size += len(b)
					one.Value = string(b)
					if long != "rawfile" {
						if one.Value, err = slurped(b); err != nil {
							return nil, fmt.Errorf("--%s %s: %w", long, v[1], err)
						}
						one.JSON = true
					}
				}
				o.Vars = append(o.Vars, one)
				continue
			case "indent":
				v, err := named(1)
				if err != nil {
					return nil, err
				}
				if o.Jq.Indent, err = strconv.Atoi(v[0]); err != nil || o.Jq.Indent < 0 || o.Jq.Indent > 7 {
					return nil, errors.New("Cannot indent more than 7 characters")
				}
				if o.Jq.Indent == 0 {
					o.Jq.Indent = -1
				}
				continue
			}
			letter, known := jqFlags[long]
			if !known {
				return nil, fmt.Errorf("Unknown arguments: --%s\n%s", long, jqUsage)
			}
			letters = string(letter)
		}
		for _, l := range []byte(letters) {
			switch l {
			case 'n':
				o.Jq.Null = true
			case 's':
				o.Jq.Slurp = true
			case 'R':
				o.Jq.RawIn = true
			case 'r':
				o.Jq.Raw = true
			case 'j':
				o.Jq.Raw, o.Jq.Join = true, true
			case 'a':
				o.Jq.ASCII = true
			case 'c':
				o.Jq.Indent = -1
			case 't':
				o.Jq.Indent, o.Jq.Tab = 1, true
			case 'e':
				o.Jq.Status = true
			case 'f':
				fromFile = true
			case 'S', 'M', 'u': // keys are always sorted, and nothing is coloured
			case 'C':
				return nil, errors.New("-C is not possible here: jq's output has no colours in the console")
			case 'V':
				o.Program, o.Jq.Null, o.Jq.Raw = `"jq-1.7 (gojq 0.12)"`, true, true
				return o, nil
			default:
				return nil, fmt.Errorf("Unknown arguments: -%c\n%s", l, jqUsage)
			}
		}
	}
	if len(operands) == 0 {
		if !inv.Piped {
			return nil, errors.New(jqUsage)
		}
		operands = []string{"."}
	}
	o.Program, o.Jq.Program = operands[0], "<arg>"
	if fromFile {
		b, err := read(inv, operands[0], mostRead)
		if err != nil {
			return nil, err
		}
		o.Program, o.Jq.Program = string(b), operands[0]
	}
	for _, name := range operands[1:] {
		b, err := read(inv, name, mostRead-size)
		if err != nil {
			return nil, err
		}
		size += len(b)
		o.Files = append(o.Files, file{name, b})
	}
	return o, nil
}

// slurped is all values of a text as an array.
func slurped(b []byte) (string, error) {
	dec := json.NewDecoder(strings.NewReader(string(b)))
	all := []json.RawMessage{}
	for {
		var v json.RawMessage
		if err := dec.Decode(&v); err == io.EOF {
			break
		} else if err != nil {
			return "", err
		}
		all = append(all, v)
	}
	out, err := json.Marshal(all)
	return string(out), err
}

// jqError is an error that a program of jq ends with.
func jqError(out *flushed, exit int, format string, args ...any) int {
	_ = out.Flush()
	fmt.Fprintf(os.Stderr, "jq: error"+format+"\n", args...)
	return exit
}

// runJq runs a program of jq for each value of its input.
func runJq(o *order, in io.Reader, out *flushed) int {
	query, err := gojq.Parse(o.Program)
	if err != nil {
		return jqError(out, 3, ": %v\n%s\njq: 1 compile error", err, o.Program)
	}
	// What takes its time from the machine takes it from the cluster.
	now, err := gojq.Parse(fmt.Sprintf("def now: %d; .", o.Epoch))
	if err != nil {
		return jqError(out, 3, ": %v", err)
	}
	query.FuncDefs = append(now.FuncDefs, query.FuncDefs...)
	names, values, err := o.variables()
	if err != nil {
		return jqError(out, 2, ": %v", err)
	}
	inputs := &jqInputs{o: o, in: in}
	printer := jqPrinter{o.Jq, out}
	code, err := gojq.Compile(query,
		gojq.WithVariables(names), gojq.WithInputIter(inputs),
		gojq.WithEnvironLoader(func() (env []string) {
			for _, name := range slices.Sorted(maps.Keys(o.Environ)) {
				env = append(env, name+"="+o.Environ[name])
			}
			return env
		}),
		gojq.WithFunction("input_filename", 0, 0, func(any, []any) any {
			if inputs.name == "" {
				return nil
			}
			return inputs.name
		}),
		gojq.WithFunction("debug", 0, 0, func(v any, _ []any) any {
			fmt.Fprintf(os.Stderr, "%s\n", jqPrinter{jqOptions{Indent: -1}, nil}.text([]any{"DEBUG:", v}))
			return v
		}),
		gojq.WithFunction("stderr", 0, 0, func(v any, _ []any) any {
			fmt.Fprint(os.Stderr, jqPrinter{jqOptions{Indent: -1}, nil}.text(v))
			return v
		}),
	)
	if err != nil {
		return jqError(out, 3, ": %v\n%s\njq: 1 compile error", err, o.Program)
	}
	exit := 0
	last, any := any(nil), false
	for n := 0; ; n++ {
		var v interface{}
		if o.Jq.Null {
			if n > 0 {
				break
			}
		} else {
			var more bool
			if v, more = inputs.Next(); !more {
				break
			}
			if err, is := v.(error); is {
				exit = jqError(out, 2, " (at %s): %v", inputs.place(), err)
				break
			}
		}
		results := code.Run(v, values...)
		for {
			result, more := results.Next()
			if !more {
				break
			}
			if err, is := result.(error); is {
				var halt *gojq.HaltError
				if errors.As(err, &halt) {
					_ = out.Flush()
					switch v := halt.Value().(type) {
					case nil:
					case string:
						fmt.Fprint(os.Stderr, v)
					default:
						fmt.Fprintln(os.Stderr, jqPrinter{jqOptions{Indent: -1}, nil}.text(v))
					}
					return halt.ExitCode()
				}
				exit = jqError(out, 5, " (at %s): %v", inputs.place(), err)
				break
			}
			last, any = result, true
			printer.print(result)
		}
	}
	switch {
	case exit != 0 || !o.Jq.Status:
		return exit
	case !any:
		return 4
	case last == nil || last == false:
		return 1
	}
	return 0
}

// variables are those of --arg and the like, and $ARGS.
func (o *order) variables() (names []string, values []any, err error) {
	named := map[string]any{}
	value := func(v variable) (any, error) {
		if !v.JSON {
			return v.Value, nil
		}
		dec := json.NewDecoder(strings.NewReader(v.Value))
		dec.UseNumber()
		var x any
		err := dec.Decode(&x)
		if err == nil && dec.More() {
			err = errors.New("more than one value")
		}
		if err != nil {
			err = fmt.Errorf("Invalid JSON text passed to --argjson: %q: %w", v.Value, err)
		}
		return x, err
	}
	for _, v := range o.Vars {
		x, err := value(v)
		if err != nil {
			return nil, nil, err
		}
		if _, twice := named[v.Name]; !twice {
			names, values = append(names, "$"+v.Name), append(values, x)
		}
		named[v.Name] = x
	}
	positional := []any{}
	for _, v := range o.Jq.Args {
		x, err := value(v)
		if err != nil {
			return nil, nil, err
		}
		positional = append(positional, x)
	}
	return append(names, "$ARGS"), append(values, map[string]any{"named": named, "positional": positional}), nil
}

// jqInputs are the values that a program of jq gets, and what input and inputs give.
type jqInputs struct {
	o    *order
	in   io.Reader // the standard input; nil once it is read
	dec  *json.Decoder
	raw  *lines
	rows *counted
	name string
	over bool
}

// counted counts the newlines that were read through it.
type counted struct {
	r    io.Reader
	text []byte // read and not yet counted
	at   int64  // where text begins
	rows int
}

// Read is [io.Reader].
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.text = append(c.text, p[:n]...)
	return n, err
}

// upTo is how many newlines there are before an offset, and behind it before the next value.
func (c *counted) upTo(offset int64) int {
	n := min(max(0, int(offset-c.at)), len(c.text))
	for n < len(c.text) && (c.text[n] == '\n' || c.text[n] == ' ') {
		n++
	}
	for _, b := range c.text[:n] {
		if b == '\n' {
			c.rows++
		}
	}
	c.text, c.at = c.text[n:], c.at+int64(n)
	return c.rows
}

// place is where in its input a program is, as errors say it.
func (j *jqInputs) place() string {
	name := j.name
	if name == "" {
		name = "<stdin>"
	}
	switch {
	case j.o.Jq.Null || j.rows == nil:
		return "<unknown>"
	case j.dec != nil:
		return fmt.Sprintf("%s:%d", name, j.rows.upTo(j.dec.InputOffset()))
	}
	return fmt.Sprintf("%s:%d", name, j.rows.rows)
}

// open goes to the next input; false after the last.
func (j *jqInputs) open() bool {
	var r io.Reader
	switch {
	case len(j.o.Files) > 0:
		f := j.o.Files[0]
		j.o.Files, j.in, j.name = j.o.Files[1:], nil, f.Name
		r = strings.NewReader(string(f.Data))
	case j.in != nil:
		r, j.in = j.in, nil
	default:
		return false
	}
	j.rows = &counted{r: r}
	j.dec = json.NewDecoder(j.rows)
	j.dec.UseNumber()
	j.raw = &lines{r: r}
	return true
}

// Next is [gojq.Iter].
func (j *jqInputs) Next() (any, bool) {
	switch {
	case j.over:
		return nil, false
	case j.o.Jq.Slurp:
		j.over = true
		return j.all()
	}
	return j.one()
}

// one is the next value, or with -R the next line.
func (j *jqInputs) one() (any, bool) {
	for j.dec != nil || j.open() {
		if j.o.Jq.RawIn {
			line, more, err := j.raw.next()
			if err != nil {
				j.over = true
				return err, true
			}
			if more {
				return line, true
			}
			j.dec = nil
			continue
		}
		var v any
		err := j.dec.Decode(&v)
		switch {
		case err == nil:
			j.rows.upTo(j.dec.InputOffset())
			return v, true
		case err == io.EOF:
			j.dec = nil
			continue
		}
		j.over = true
		return err, true
	}
	return nil, false
}

// all is everything: an array of the values, or with -R the text.
func (j *jqInputs) all() (any, bool) {
	if j.o.Jq.RawIn {
		var text strings.Builder
		for j.open() {
			if _, err := io.Copy(&text, j.raw.r); err != nil {
				return err, true
			}
		}
		return text.String(), true
	}
	list := []any{}
	for j.over = false; ; {
		v, more := j.one()
		if !more {
			j.over = true
			return list, true
		}
		if err, is := v.(error); is {
			return err, true
		}
		list = append(list, v)
	}
}
