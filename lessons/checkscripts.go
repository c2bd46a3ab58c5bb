package lessons

import (
	"errors"
	"fmt"
	"path/filepath"

	"mvdan.cc/sh/v3/syntax"

	"kviz/cluster/script"
)

// checkScripts refuses a script that is not the shell's language, and a loop that may run for ever: on a
// busy machine what it waits for may not come, and nobody would be told.
func (l *Lesson) checkScripts() error {
	var wrong []error
	check := func(name, script string) {
		if err := parses(filepath.Join(l.dir, name), script); err != nil {
			wrong = append(wrong, err)
		}
	}
	check(wordsFile, l.Words)
	check("setup.sh", l.Setup)
	check("cleanup.sh", l.Cleanup)
	for _, name := range sorted(l.Accepted) {
		check("accepted/"+name, l.Accepted[name])
	}
	for _, name := range sorted(l.Near) {
		check("near-miss/"+name, l.Near[name])
	}
	for _, s := range l.Steps {
		for _, o := range s.Offers {
			if err := parses("offer", o.Run.bare()); err != nil {
				wrong = append(wrong, l.wrong(s, err))
			}
		}
	}
	for _, p := range l.Pins {
		if err := parses("pin", p.By); err != nil {
			wrong = append(wrong, l.wrong(l.Steps[0], err))
		}
	}
	return errors.Join(wrong...)
}

// readScript reads a script as the console does.
func readScript(name, text string) (*syntax.File, error) {
	return script.Parse(text, name)
}

// parses refuses a script that the console cannot read, or that may never end.
func parses(name, script string) error {
	file, err := readScript(name, script)
	if err != nil {
		return err
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if err == nil && endless(n) {
			err = fmt.Errorf("%s:%d: a loop without a bound: on a busy machine what it waits for may not come; kviz wait has a --timeout, for i in 1 2 3 an end", name, n.Pos().Line())
		}
		return err == nil
	})
	return err
}

// endless reports whether a part of a script is a loop that nothing bounds.
func endless(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.WhileClause:
		return true
	case *syntax.ForClause:
		loop, counts := n.Loop.(*syntax.CStyleLoop)
		return counts && loop.Cond == nil
	}
	return false
}
