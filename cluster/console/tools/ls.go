package tools

import (
	"fmt"
	"path"
	"strings"
)

// list is ls: what a folder holds, a name a line, those of folders with a / behind. The
// manifests that the console knows are a folder too.
func list(u *Use) int {
	set, dirs, err := grammar{flags: "1apA"}.parse(u)
	if err != nil {
		return usage(u, err)
	}
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	exit := 0
	for _, d := range dirs {
		names, err := u.Files.List(d)
		if err != nil {
			u.complain(fmt.Errorf("cannot access '%s': %w", d, because(err)))
			exit = 2
			continue
		}
		if len(dirs) > 1 && (len(names) != 1 || names[0] != d) {
			fmt.Fprintf(u.Out, "%s:\n", d)
		}
		for _, n := range names {
			if !strings.HasPrefix(path.Base(n), ".") || set.has("aA") || n == d {
				fmt.Fprintln(u.Out, n)
			}
		}
	}
	return exit
}
