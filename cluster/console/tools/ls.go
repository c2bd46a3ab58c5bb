package tools

import (
	"fmt"
)

// list is ls: what a folder holds, a name a line, those of folders with a / behind. The
// manifests that the console knows are a folder too.
func list(u *Use) int {
	_, dirs, err := options(u, "1ap", "")
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
			fmt.Fprintf(u.Err, "ls: %s: no such file or folder\n", d)
			exit = 2
			continue
		}
		if len(dirs) > 1 {
			fmt.Fprintf(u.Out, "%s:\n", d)
		}
		for _, n := range names {
			fmt.Fprintln(u.Out, n)
		}
	}
	return exit
}
