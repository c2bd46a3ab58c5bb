package runtime

import (
	"fmt"
	"path"
	"sort"
	"strconv"
	"strings"
)

// cmdLn makes a symbolic link, under a name or in a folder (BusyBox coreutils/ln.c).
func cmdLn(sh *shell, a []string) int {
	symbolic, force := false, false
	for len(a) > 0 && strings.HasPrefix(a[0], "-") && len(a[0]) > 1 {
		symbolic = symbolic || strings.Contains(a[0], "s")
		force = force || strings.Contains(a[0], "f")
		a = a[1:]
	}
	switch {
	case len(a) == 0 || len(a) > 2:
		fmt.Fprintln(sh.err, "Usage: ln -s [-f] TARGET [LINK]")
		return 1
	case !symbolic:
		fmt.Fprintf(sh.err, "ln: %s: hard links are not simulated, ln -s is\n", a[0])
		return 1
	}
	d, name := sh.disk(), path.Base(a[0])
	if len(a) == 2 {
		if name = a[1]; d.isFolder(name, sh.below(name)) {
			name = path.Join(name, path.Base(a[0]))
		}
	}
	if d.exists(name) && !force {
		fmt.Fprintf(sh.err, "ln: %s: File exists\n", name)
		return 1
	}
	if err := d.link(name, a[0]); err != nil {
		fmt.Fprintf(sh.err, "ln: %s: %v\n", name, err)
		return 1
	}
	return 0
}

// isFolder reports whether a path is a folder's, of which below is what it holds.
func (d *disk) isFolder(dir string, below []string) bool {
	return len(below) > 0 || d.mounted(dir) || path.Clean(dir) == "/"
}

// search is what find looks for.
type search struct {
	kind string // f, d, l, or any
	name string // a pattern
	deep int    // at most so many folders down; -1 for all
}

// cmdFind lists folders with all that is in them (BusyBox findutils/find.c): -type, -name, -maxdepth
// and -print. A folder comes before what it holds.
func cmdFind(sh *shell, a []string) int {
	var dirs []string
	for len(a) > 0 && !strings.HasPrefix(a[0], "-") {
		dirs, a = append(dirs, a[0]), a[1:]
	}
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	s := search{deep: -1}
	for len(a) > 0 {
		is := a[0]
		if a = a[1:]; is == "-print" {
			continue
		}
		if len(a) == 0 {
			fmt.Fprintf(sh.err, "find: %s: requires an argument\n", is)
			return 1
		}
		value := a[0]
		a = a[1:]
		switch is {
		case "-type":
			s.kind = value
		case "-name":
			if _, err := path.Match(value, ""); err != nil {
				fmt.Fprintf(sh.err, "find: %s: %v\n", value, err)
				return 1
			}
			s.name = value
		case "-maxdepth":
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 {
				fmt.Fprintf(sh.err, "find: invalid number '%s'\n", value)
				return 1
			}
			s.deep = n
		default:
			fmt.Fprintf(sh.err, "find: unrecognized: %s\n", is)
			return 1
		}
	}
	code := 0
	for _, dir := range dirs {
		if !sh.find(dir, s) {
			fmt.Fprintf(sh.err, "find: %s: No such file or directory\n", dir)
			code = 1
		}
	}
	return code
}

// find prints what there is in a folder, and reports whether it is there.
func (sh *shell) find(dir string, s search) bool {
	d, root := sh.disk(), path.Join("/", dir)
	below := sh.below(root)
	if !d.isFolder(root, below) {
		if !d.exists(dir) {
			return false
		}
		sh.found(dir, d.kind(dir), 0, s)
		return true
	}
	kinds := map[string]string{root: "d"}
	for _, file := range below {
		kinds[file] = d.kind(file)
		for in := path.Dir(file); in != root && kinds[in] == ""; in = path.Dir(in) {
			kinds[in] = "d"
		}
	}
	names := make([]string, 0, len(kinds))
	for name := range kinds {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		rest := strings.TrimPrefix(strings.TrimPrefix(name, root), "/")
		printed, depth := dir, 0
		if rest != "" {
			printed, depth = strings.TrimSuffix(dir, "/")+"/"+rest, 1+strings.Count(rest, "/")
		}
		sh.found(printed, kinds[name], depth, s)
	}
	return true
}

// kind is what a file is to find -type.
func (d *disk) kind(file string) string {
	f, name := d.where(file)
	if _, is := f.Target(name); is {
		return "l"
	}
	return "f"
}

// found prints a path that fits.
func (sh *shell) found(name, kind string, depth int, s search) {
	if fits, _ := path.Match(s.name, path.Base(name)); s.name != "" && !fits || s.kind != "" && s.kind != kind || s.deep >= 0 && depth > s.deep {
		return
	}
	fmt.Fprintln(sh.out, name)
}
