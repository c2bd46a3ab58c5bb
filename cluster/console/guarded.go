package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"kviz/cluster/control"
)

// A guarded line ([control.Guard]) must not go on where its guard does not see it: a loop in which no command runs, or
// assignments that double a variable again and again. So a command of no effect is put into each round of a loop
// and before each assignment.

// tick is its name, which no person can type. Its argument is the status of the command before, which stays as it was.
const tick = "\x00tick"

// ticks puts ticks into a text that was parsed.
func ticks(file *syntax.File) {
	var assign []*syntax.Stmt
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.WhileClause:
			n.Do = append([]*syntax.Stmt{ticking(n.DoPos)}, n.Do...)
		case *syntax.ForClause:
			n.Do = append([]*syntax.Stmt{ticking(n.DoPos)}, n.Do...)
		case *syntax.Stmt:
			if assigns(n.Cmd) {
				assign = append(assign, n)
			}
		}
		return true
	})
	for _, s := range assign {
		s.Cmd = &syntax.Block{Lbrace: s.Pos(), Rbrace: s.End(), Stmts: []*syntax.Stmt{ticking(s.Pos()), {Cmd: s.Cmd, Position: s.Pos()}}}
	}
}

func assigns(c syntax.Command) bool {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return len(c.Args) == 0
	case *syntax.DeclClause, *syntax.LetClause, *syntax.ArithmCmd:
		return true
	}
	return false
}

func ticking(at syntax.Pos) *syntax.Stmt {
	status := &syntax.ParamExp{Dollar: at, Short: true, Param: &syntax.Lit{Value: "?"}}
	return &syntax.Stmt{Position: at, Cmd: &syntax.CallExpr{Args: []*syntax.Word{
		{Parts: []syntax.WordPart{&syntax.Lit{ValuePos: at, ValueEnd: at, Value: tick}}}, {Parts: []syntax.WordPart{status}},
	}}}
}

// ticked is what a tick comes to: the status of the command before.
func ticked(args []string) error {
	if n, err := strconv.Atoi(args[len(args)-1]); err == nil && n != 0 {
		return interp.NewExitStatus(uint8(n))
	}
	return nil
}

// mostVariables is how many bytes a guarded shell's variables hold.
const mostVariables = 64 << 10

// guards asks a session's guard whether a command may run. The guard says itself why not.
func (s *Session) guards(ctx context.Context, args []string) error {
	if s.guard == nil {
		return nil
	}
	if err := s.guard.Command(args); err != nil {
		return context.Canceled
	}
	held := 0
	interp.HandlerCtx(ctx).Env.Each(func(_ string, v expand.Variable) bool {
		held += len(v.Str)
		for _, e := range v.List {
			held += len(e)
		}
		for _, e := range v.Map {
			held += len(e)
		}
		return held <= mostVariables
	})
	if held > mostVariables {
		return fmt.Errorf("the line was ended: its variables hold more than %d KiB", mostVariables>>10)
	}
	return nil
}

// broken tells why a shell has ended, unless its guard does.
func (s *Session) broken(w io.Writer, err error) {
	if s.guard == nil || !errors.Is(err, context.Canceled) {
		fmt.Fprintf(w, "%v\n", err)
	}
}

// computes says that a shell computes until it is called with -1.
func computes(g control.Guard, by int) {
	if g != nil {
		g.Computes(by)
	}
}
