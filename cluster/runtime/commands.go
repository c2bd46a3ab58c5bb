package runtime

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

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
	for _, f := range a {
		if _, ok := sh.files()[f]; !ok {
			sh.files()[f] = ""
		}
	}
	return 0
}

func cmdRm(sh *shell, a []string) int {
	code, force := 0, false
	for _, f := range a {
		if strings.HasPrefix(f, "-") {
			force = force || strings.Contains(f, "f")
			continue
		}
		if _, ok := sh.files()[f]; !ok && !force {
			fmt.Fprintf(sh.err, "rm: can't remove '%s': No such file or directory\n", f)
			code = 1
		}
		delete(sh.files(), f)
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
	if _, ok := sh.files()[dir]; ok {
		fmt.Fprintln(sh.out, dir)
		return 0
	}
	seen := map[string]bool{}
	for f := range sh.files() {
		if rest, ok := strings.CutPrefix(f, strings.TrimSuffix(dir, "/")+"/"); ok {
			name, _, _ := strings.Cut(rest, "/")
			seen[name] = true
		}
	}
	if len(seen) == 0 {
		fmt.Fprintf(sh.err, "ls: %s: No such file or directory\n", dir)
		return 1
	}
	names := make([]string, 0, len(seen))
	for n := range seen {
		names = append(names, n)
	}
	sort.Strings(names)
	fmt.Fprintln(sh.out, strings.Join(names, "\n"))
	return 0
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
				sh.c.run.trap = a[0]
			}
		}
	}
	return 0
}

func cmdTest(sh *shell, a []string) int {
	if len(a) > 0 && a[len(a)-1] == "]" {
		a = a[:len(a)-1]
	}
	if len(a) > 0 && a[0] == "!" {
		return boolCode(cmdTest(sh, a[1:]) != 0)
	}
	switch len(a) {
	case 1:
		return boolCode(a[0] != "")
	case 2:
		_, exists := sh.files()[a[1]]
		switch a[0] {
		case "-f", "-e", "-r":
			return boolCode(exists)
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

func cmdDate(sh *shell, _ []string) int {
	fmt.Fprintln(sh.out, sh.t.Now().Format("Mon Jan _2 15:04:05 UTC 2006"))
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
