package runtime

import (
	"cmp"
	"fmt"
	"path"
	"sort"
	"strconv"
	"strings"
	"time"

	"kviz/cluster/folder"
	"kviz/cluster/sim"
)

func cmdEcho(sh *shell, a []string) int {
	end := "\n"
	for len(a) > 0 && (a[0] == "-n" || a[0] == "-e") {
		if a[0] == "-n" {
			end = ""
		}
		a = a[1:]
	}
	fmt.Fprint(sh.out, strings.Join(a, " ")+end)
	return 0
}

func cmdPrintf(sh *shell, a []string) int {
	if len(a) == 0 {
		return 1
	}
	if widths(a[0]) > maxWord {
		sh.fail(errMemory)
		return sh.last
	}
	format := strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(a[0])
	args := make([]any, 0, len(a))
	for _, s := range a[1:] {
		args = append(args, s)
	}
	fmt.Fprintf(sh.out, format, args...)
	return 0
}

func cmdCat(sh *shell, a []string) int {
	if len(a) == 0 {
		a = []string{"-"}
	}
	code := 0
	for _, f := range a {
		if f == "-" {
			fmt.Fprint(sh.out, sh.in.rest(sh.t))
			continue
		}
		text, err := sh.read(f)
		if err != nil {
			fmt.Fprintf(sh.err, "cat: can't open '%s': %v\n", f, err)
			code = 1
			continue
		}
		fmt.Fprint(sh.out, text)
	}
	return code
}

func cmdTouch(sh *shell, a []string) int {
	code := 0
	for _, f := range a {
		if _, there := sh.disk().read(f); there {
			continue
		}
		if err := sh.disk().write(f, ""); err != nil {
			fmt.Fprintf(sh.err, "touch: %s: %v\n", f, err)
			code = 1
		}
	}
	return code
}

func cmdRm(sh *shell, a []string) int {
	code, force, recursive := 0, false, false
	for _, f := range a {
		if strings.HasPrefix(f, "-") {
			force = force || strings.Contains(f, "f")
			recursive = recursive || strings.ContainsAny(f, "rR")
			continue
		}
		if sh.disk().exists(f) {
			if err := sh.disk().remove(f); err != nil {
				fmt.Fprintf(sh.err, "rm: can't remove '%s': %v\n", f, err)
				code = 1
			}
			continue
		}
		below := sh.below(f)
		if recursive {
			for _, name := range below {
				if err := sh.disk().remove(name); err != nil {
					fmt.Fprintf(sh.err, "rm: can't remove '%s': %v\n", name, err)
					code = 1
				}
			}
			continue
		}
		if len(below) > 0 {
			fmt.Fprintf(sh.err, "rm: '%s' is a directory\n", f)
			code = 1
		} else if !force {
			fmt.Fprintf(sh.err, "rm: can't remove '%s': No such file or directory\n", f)
			code = 1
		}
	}
	return code
}

func cmdLs(sh *shell, a []string) int {
	dir := "/"
	for _, s := range a {
		if !strings.HasPrefix(s, "-") {
			dir = s
		}
	}
	if sh.disk().exists(dir) {
		fmt.Fprintln(sh.out, dir)
		return 0
	}
	seen := map[string]bool{}
	for _, f := range sh.below(dir) {
		name, _, _ := strings.Cut(strings.TrimPrefix(f, strings.TrimSuffix(path.Clean(dir), "/")+"/"), "/")
		seen[name] = true
	}
	if len(seen) == 0 && !sh.disk().mounted(dir) {
		fmt.Fprintf(sh.err, "ls: %s: No such file or directory\n", dir)
		return 1
	}
	names := make([]string, 0, len(seen))
	for n := range seen {
		names = append(names, n)
	}
	sort.Strings(names)
	if len(names) > 0 {
		fmt.Fprintln(sh.out, strings.Join(names, "\n"))
	}
	return 0
}

// cmdMv moves files, one to another name or any into a folder.
func cmdMv(sh *shell, a []string) int {
	loud := false
	for len(a) > 0 && strings.HasPrefix(a[0], "-") {
		loud = loud || strings.Contains(a[0], "v")
		a = a[1:]
	}
	if len(a) < 2 {
		fmt.Fprintln(sh.err, "BusyBox: mv: missing file operand")
		return 1
	}
	d, to, code := sh.disk(), a[len(a)-1], 0
	into := len(a) > 2 || strings.HasSuffix(to, "/") || d.mounted(to) || len(sh.below(to)) > 0
	for _, from := range a[:len(a)-1] {
		name := to
		if into {
			name = path.Join(to, path.Base(from))
		}
		text, there := d.read(from)
		if !there {
			fmt.Fprintf(sh.err, "mv: can't rename '%s': No such file or directory\n", from)
			code = 1
			continue
		}
		if err := d.write(name, text); err != nil {
			fmt.Fprintf(sh.err, "mv: can't create '%s': %v\n", name, err)
			code = 1
			continue
		}
		if from != name {
			if err := d.remove(from); err != nil {
				fmt.Fprintf(sh.err, "mv: can't remove '%s': %v\n", from, err)
				code = 1
			}
		}
		if loud {
			fmt.Fprintf(sh.out, "'%s' -> '%s'\n", from, name)
		}
	}
	return code
}

// cmdDd copies its input, or so many zeros, to its output.
func cmdDd(sh *shell, a []string) int {
	is := map[string]string{}
	for _, s := range a {
		name, value, _ := strings.Cut(s, "=")
		is[name] = value
	}
	size, count := number(is["bs"], 512), number(is["count"], -1)
	var text string
	switch from := is["if"]; from {
	case "/dev/zero":
		if size < 0 || count < 0 || count > maxDisk || size*count > maxDisk {
			fmt.Fprintf(sh.err, "dd: error writing '%s': %v\n", is["of"], folder.ErrNoSpace)
			return 1
		}
		text = strings.Repeat("\x00", size*count)
	case "":
		text = sh.in.rest(sh.t)
	default:
		var err error
		if text, err = sh.read(from); err != nil {
			fmt.Fprintf(sh.err, "dd: can't open '%s': %v\n", from, err)
			return 1
		}
	}
	if count >= 0 && size > 0 && len(text)/size > count {
		text = text[:size*count]
	}
	if is["of"] == "" {
		fmt.Fprint(sh.out, text)
	} else if err := sh.disk().write(is["of"], text); err != nil {
		fmt.Fprintf(sh.err, "dd: error writing '%s': %v\n", is["of"], err)
		return 1
	}
	whole, part := len(text), 0
	if size > 0 {
		whole, part = len(text)/size, min(len(text)%size, 1)
	}
	fmt.Fprintf(sh.err, "%d+%d records in\n%d+%d records out\n", whole, part, whole, part)
	return 0
}

func number(s string, otherwise int) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > maxDisk {
		return otherwise
	}
	return n
}

// cmdExpr calculates and compares two numbers; two words can be the same or not.
func cmdExpr(sh *shell, a []string) int {
	if len(a) == 1 {
		fmt.Fprintln(sh.out, a[0])
		return boolCode(a[0] != "" && a[0] != "0")
	}
	if len(a) != 3 {
		fmt.Fprintln(sh.err, "expr: syntax error")
		return 2
	}
	x, notX := strconv.Atoi(a[0])
	y, notY := strconv.Atoi(a[2])
	numbers := notX == nil && notY == nil
	order := strings.Compare(a[0], a[2])
	if numbers {
		order = cmp.Compare(x, y)
	}
	var is int
	switch a[1] {
	case "=", "==":
		is = 1 - boolCode(order == 0)
	case "!=":
		is = 1 - boolCode(order != 0)
	case "<":
		is = 1 - boolCode(order < 0)
	case "<=":
		is = 1 - boolCode(order <= 0)
	case ">":
		is = 1 - boolCode(order > 0)
	case ">=":
		is = 1 - boolCode(order >= 0)
	case "+", "-", "*", "/", "%":
		if !numbers {
			fmt.Fprintln(sh.err, "expr: non-numeric argument")
			return 2
		}
		if y == 0 && (a[1] == "/" || a[1] == "%") {
			fmt.Fprintln(sh.err, "expr: division by zero")
			return 2
		}
		switch a[1] {
		case "+":
			is = x + y
		case "-":
			is = x - y
		case "*":
			is = x * y
		case "/":
			is = x / y
		case "%":
			is = x % y
		}
	default:
		fmt.Fprintln(sh.err, "expr: syntax error")
		return 2
	}
	fmt.Fprintln(sh.out, is)
	return boolCode(is != 0)
}

func cmdSleep(sh *shell, a []string) int {
	d, err := parseSleep(a)
	if err != nil {
		fmt.Fprintln(sh.err, err)
		return 1
	}
	sh.sleep(d)
	return 0
}

func (sh *shell) sleep(d time.Duration) {
	if d == forever {
		var never sim.Cond
		never.Wait(sh.t)
	}
	sh.t.Sleep(d)
}

func cmdWait(sh *shell, _ []string) int { sh.sleep(forever); return 0 }

func cmdTail(sh *shell, a []string) int {
	for _, s := range a {
		if strings.HasPrefix(s, "-") && strings.ContainsAny(s, "fF") {
			sh.sleep(forever)
		}
	}
	return 0
}

func cmdExit(sh *shell, a []string) int {
	sh.exited = true
	if len(a) == 0 {
		return sh.last
	}
	n, err := strconv.Atoi(a[0])
	if err != nil {
		return 2
	}
	return n & 255
}

func cmdTrap(sh *shell, a []string) int {
	if len(a) >= 2 && sh.c.run != nil && sh.c.run.process == sh.t.Process() {
		for _, sig := range a[1:] {
			if s := strings.TrimPrefix(sig, "SIG"); s == "TERM" || s == "15" {
				sh.c.run.trap, sh.c.run.funcs = a[0], sh.funcs
			}
		}
	}
	return 0
}

func cmdTest(sh *shell, a []string) int {
	if len(a) > 0 && (a[len(a)-1] == "]" || a[len(a)-1] == "]]") {
		a = a[:len(a)-1]
	}
	if len(a) > 0 && a[0] == "!" {
		return boolCode(cmdTest(sh, a[1:]) != 0)
	}
	switch len(a) {
	case 1:
		return boolCode(a[0] != "")
	case 2:
		_, exists := sh.disk().read(a[1])
		switch a[0] {
		case "-f":
			return boolCode(exists)
		case "-e", "-r":
			return boolCode(exists || sh.disk().mounted(a[1]) || len(sh.below(a[1])) > 0)
		case "-s":
			text, _ := sh.read(a[1]) // of one that is not there, nothing
			return boolCode(text != "")
		case "-z":
			return boolCode(a[1] == "")
		case "-n":
			return boolCode(a[1] != "")
		}
	case 3:
		x, _ := strconv.Atoi(a[0])
		y, _ := strconv.Atoi(a[2])
		switch a[1] {
		case "=", "==":
			return boolCode(a[0] == a[2])
		case "!=":
			return boolCode(a[0] != a[2])
		case "-eq":
			return boolCode(x == y)
		case "-ne":
			return boolCode(x != y)
		case "-lt":
			return boolCode(x < y)
		case "-le":
			return boolCode(x <= y)
		case "-gt":
			return boolCode(x > y)
		case "-ge":
			return boolCode(x >= y)
		}
	}
	return boolCode(len(a) > 0)
}

func cmdHostname(sh *shell, a []string) int {
	if len(a) > 0 && (a[0] == "-i" || a[0] == "-I") {
		fmt.Fprintln(sh.out, sh.s.IP)
	} else {
		fmt.Fprintln(sh.out, sh.s.Hostname)
	}
	return 0
}

func cmdEnv(sh *shell, a []string) int {
	if len(a) > 0 {
		v, ok := sh.env.value[a[0]]
		if ok {
			fmt.Fprintln(sh.out, v)
		}
		return boolCode(ok)
	}
	names := make([]string, 0, len(sh.env.value))
	for n := range sh.env.value {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Fprintf(sh.out, "%s=%s\n", n, sh.env.value[n])
	}
	return 0
}

func cmdExport(sh *shell, a []string) int {
	for _, s := range a {
		if k, v, ok := strings.Cut(s, "="); ok {
			sh.assign(k, v)
		}
	}
	return 0
}

func cmdDate(sh *shell, a []string) int {
	now := sh.t.Now().UTC()
	for _, s := range a {
		if format, ok := strings.CutPrefix(s, "+"); ok {
			fmt.Fprintln(sh.out, strings.NewReplacer(
				"%%", "%", "%Y", now.Format("2006"), "%m", now.Format("01"), "%d", now.Format("02"), "%F", now.Format("2006-01-02"),
				"%H", now.Format("15"), "%M", now.Format("04"), "%S", now.Format("05"), "%T", now.Format("15:04:05"), "%s", strconv.FormatInt(now.Unix(), 10),
			).Replace(format))
			return 0
		}
	}
	fmt.Fprintln(sh.out, now.Format("Mon Jan _2 15:04:05 UTC 2006"))
	return 0
}

func cmdID(sh *shell, _ []string) int {
	fmt.Fprintln(sh.out, "uid=0(root) gid=0(root) groups=0(root)")
	return 0
}

func cmdPs(sh *shell, _ []string) int {
	cmd := strings.Join(append(append([]string(nil), sh.c.Command...), sh.c.Args...), " ")
	if cmd == "" {
		cmd = sh.c.repository()
	}
	fmt.Fprintf(sh.out, "PID   USER     TIME  COMMAND\n    1 root      0:00 %s\n", cmd)
	return 0
}
