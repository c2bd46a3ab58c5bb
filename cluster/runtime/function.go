package runtime

import (
	"strconv"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// function is one that a script has defined, and the parts of that script.
type function struct {
	body *syntax.Stmt
	size int
}

// returning is the loop of a shell whose function ends.
const returning = 3

// call runs a function. How deep they nest is bounded as scripts are, for what each comes to.
func (sh *shell) call(f *function, args []string) int {
	if sh.depth == maxDepth || sh.deep+f.size > maxParts {
		sh.fail(errFork)
		return sh.last
	}
	params, depth, deep := sh.params, sh.depth, sh.deep
	sh.params, sh.depth, sh.deep = args, depth+1, deep+f.size
	sh.stmt(f.body)
	sh.params, sh.depth, sh.deep = params, depth, deep
	if sh.loop == returning {
		sh.loop = 0
	}
	return sh.last
}

func cmdReturn(sh *shell, a []string) int {
	sh.loop = returning
	if len(a) == 0 {
		return sh.last
	}
	n, err := strconv.Atoi(a[0])
	if err != nil {
		return 2
	}
	return n & 255
}

func cmdShift(sh *shell, a []string) int {
	n := 1
	if len(a) > 0 {
		n = number(a[0], 1)
	}
	if n > len(sh.params) {
		return 1
	}
	sh.params = sh.params[n:]
	return 0
}

// param is one of $1, $#, $@ and $*; false for another variable.
func (sh *shell) param(name string) (expand.Variable, bool) {
	v := expand.Variable{Set: true, Kind: expand.String}
	switch name {
	case "#":
		v.Str = strconv.Itoa(len(sh.params))
		return v, true
	case "@", "*":
		for _, p := range sh.params {
			sh.words += len(p)
		}
		if sh.words > maxWord {
			sh.fail(errMemory)
			return expand.Variable{}, true
		}
		v.Kind, v.List = expand.Indexed, sh.params
		return v, true
	}
	n, err := strconv.Atoi(name)
	if err != nil || n < 1 {
		return v, false
	}
	if n > len(sh.params) {
		return expand.Variable{}, true
	}
	v.Str = sh.params[n-1]
	if sh.words += len(v.Str); sh.words > maxWord {
		sh.fail(errMemory)
		return expand.Variable{}, true
	}
	return v, true
}
