package console

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"

	"kviz/cluster/console/command"
)

// mostShells is how many shells may run in one another.
const mostShells = 20

// shellDepth is the key of how many there are, in a context.
type shellDepth struct{}

// sh is the command sh, or bash: sh -c 'COMMANDS' [NAME [ARG]...], sh FILE [ARG]..., or what it reads from
// its standard input. It is a shell of its own, which gets the variables that are exported.
func sh(ctx context.Context, inv *command.Invocation) int {
	s := session(ctx)
	name, args := inv.Args[0], inv.Args[1:]
	var params []string
	text := ""
	for len(args) > 0 && len(args[0]) > 1 && strings.IndexByte("-+", args[0][0]) >= 0 && args[0] != "--" && args[0] != "-c" {
		if letters, is := strings.CutSuffix(args[0], "c"); is && letters != "-" { // sh -ec
			params, args = append(params, letters), append([]string{"-c"}, args[1:]...)
			break
		}
		params, args = append(params, args[0]), args[1:]
	}
	var operands []string
	switch {
	case len(args) > 0 && args[0] == "-c":
		if len(args) == 1 {
			fmt.Fprintf(inv.Err, "%s: -c: option requires an argument\n", name)
			return 2
		}
		text = args[1]
		if len(args) > 2 {
			name = args[2]
		}
		if len(args) > 3 {
			operands = args[3:]
		}
	case len(args) > 0 && args[0] != "-" && args[0] != "--":
		b, err := inv.ReadFile(args[0])
		if err != nil {
			fmt.Fprintf(inv.Err, "%s: %v\n", name, err)
			return 127
		}
		text, operands, name = string(b), args[1:], filepath.Base(args[0])
	default:
		if !inv.Piped {
			fmt.Fprintf(inv.Err, "%s: this is a shell already: want -c 'COMMANDS', a FILE, or commands in a pipe\n", name)
			return 2
		}
		b, err := io.ReadAll(io.LimitReader(inv.In, 5<<20)) // more than a script may have
		if err != nil {
			fmt.Fprintf(inv.Err, "%s: %v\n", name, err)
			return 1
		}
		text, inv.In = string(b), strings.NewReader("")
	}
	return s.subshell(ctx, inv, text, name, append(append(params, "--"), operands...))
}

// subshell runs a text in a shell of its own, with a command's streams and in its folder.
func (s *Session) subshell(ctx context.Context, inv *command.Invocation, text, name string, params []string) int {
	depth, _ := ctx.Value(shellDepth{}).(int)
	if depth == mostShells {
		fmt.Fprintf(inv.Err, "%s: more than %d shells run in one another\n", inv.Args[0], mostShells)
		return 2
	}
	inner := s.c.NewSession()
	into := inner.bodies
	if s.group == nil {
		into = nil
	}
	file, err := parse(text, name, inPart, into)
	if err != nil {
		fmt.Fprintf(inv.Err, "%s: %v\n", inv.Args[0], err)
		return 2
	}
	inner.group, inner.turn, inner.job = s.group, s.turn, s.job
	inner.out = &output{to: [2]io.Writer{inv.Out, inv.Err}}
	inner.guard = s.guard
	inner.within, inner.source, inner.script, inner.columns, inner.lend, inner.stdin = s.within, s.source, s.script, s.columns, s.lend, s.stdin
	var exported []string
	if inv.Env != nil {
		inv.Env.Each(func(name string, v expand.Variable) bool {
			if v.Exported && v.Kind == expand.String {
				exported = append(exported, name+"="+v.Str)
			}
			return true
		})
	}
	in, done, err := stdinFile(inv.In)
	if err != nil {
		fmt.Fprintf(inv.Err, "%s: %v\n", inv.Args[0], err)
		return 1
	}
	defer done()
	if _, is := inv.In.(*os.File); !is {
		inner.stdin = nil // it is none of the person's keys
	}
	options := append(s.options(in, &stream{inner.out, 0}, &stream{inner.out, 1}), interp.Env(expand.ListEnviron(exported...)), interp.Dir(inv.Dir))
	if len(params) > 0 {
		options = append(options, interp.Params(params...))
	}
	runner, err := interp.New(options...)
	if err != nil {
		fmt.Fprintf(inv.Err, "%s: %v\n", inv.Args[0], err)
		return 2
	}
	inner.runner = runner
	if s.guard != nil {
		ticks(file)
	}
	computes(s.guard, 1)
	defer computes(s.guard, -1)
	err = runner.Run(context.WithValue(context.WithValue(ctx, shellOf{}, inner), shellDepth{}, depth+1), file)
	if code, ok := interp.IsExitStatus(err); ok {
		return int(code)
	}
	if err != nil {
		s.broken(inv.Err, err)
		return 1
	}
	return 0
}
