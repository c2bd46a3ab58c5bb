package runtime

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"kviz/cluster/sim"
)

// Dialer is the network as a command inside a container sees it; package
// network has it.
type Dialer interface {
	// Curl fetches a URL from a pod and gives what curl would print and return.
	Curl(t *sim.Task, node, pod, url string, limit time.Duration) (body string, exit int, stderr string)
	// Lookup resolves a name from a pod.
	Lookup(t *sim.Task, node, pod, name string) ([]string, error)
}

// SetDialer joins commands inside containers to a network.
func (r *Runtime) SetDialer(d Dialer) { r.dialer = d }

// ExecResult is how a command inside a container ended.
type ExecResult struct {
	Stdout, Stderr string
	Code           int
}

// Exec is the CRI call ExecSync: it runs a command inside a running container.
// limit 0 is none; a command that takes longer ends with an error.
func (r *Runtime) Exec(t *sim.Task, containerID string, argv []string, limit time.Duration) (ExecResult, error) {
	c, s, err := r.find(containerID)
	if err != nil {
		return ExecResult{}, err
	}
	if r.down {
		return ExecResult{}, r.unavailable()
	}
	if c.State != Running {
		return ExecResult{}, &Error{Code: "Unknown", Desc: fmt.Sprintf("failed to exec in container: failed to load task: container %q is not running", short(c.ID))}
	}
	var out, errw strings.Builder
	code, done := 0, false
	// The command is a process of its own, so that a limit can kill it.
	p := r.k.NewProcess(r.lane)
	var cond sim.Cond
	p.Go("exec "+short(c.ID), func(ct *sim.Task) {
		ct.SetCauses(t.Causes()...)
		sh := r.newShell(ct, c, s, &out, &errw)
		code = sh.exec(argv)
		done = true
		cond.Broadcast()
	})
	defer p.Kill()
	for !done {
		if !cond.WaitTimeout(t, limit) && !done {
			return ExecResult{}, &Error{Code: "DeadlineExceeded", Desc: fmt.Sprintf("failed to exec in container: timeout %s exceeded: context deadline exceeded", limit)}
		}
	}
	return ExecResult{Stdout: out.String(), Stderr: errw.String(), Code: code}, nil
}

// builtins are the commands containers have.
var builtins map[string]func(*shell, []string) int

func init() { // not a composite literal: the commands refer to the table
	builtins = map[string]func(*shell, []string) int{
		"echo": cmdEcho, "printf": cmdPrintf, "cat": cmdCat, "touch": cmdTouch, "rm": cmdRm, "ls": cmdLs,
		"mkdir": func(*shell, []string) int { return 0 }, "chmod": func(*shell, []string) int { return 0 },
		"set": func(*shell, []string) int { return 0 }, "wait": cmdWait, "trap": cmdTrap,
		"sleep": cmdSleep, "true": func(*shell, []string) int { return 0 }, ":": func(*shell, []string) int { return 0 },
		"false": func(*shell, []string) int { return 1 }, "exit": cmdExit, "test": cmdTest, "[": cmdTest,
		"hostname": cmdHostname, "env": cmdEnv, "printenv": cmdEnv, "export": cmdExport, "date": cmdDate, "id": cmdID,
		"break": func(sh *shell, _ []string) int { sh.loop = 1; return 0 }, "continue": func(sh *shell, _ []string) int { sh.loop = 2; return 0 },
		"exec": func(sh *shell, a []string) int { sh.exited = true; return sh.exec(a) }, "tail": cmdTail, "ps": cmdPs,
		"httpd": cmdListen, "nc": cmdListen, "python": cmdListen, "python3": cmdListen, "nginx": cmdListen,
		"curl": cmdCurl, "wget": cmdWget, "nslookup": cmdNslookup, "kill": cmdKill,
	}
}

// exec runs one command and gives its exit status.
func (sh *shell) exec(argv []string) int {
	if len(argv) == 0 {
		return 0
	}
	name := argv[0][strings.LastIndexByte(argv[0], '/')+1:]
	if name == "sh" || name == "bash" || name == "ash" {
		for i, a := range argv[1:] {
			if strings.HasPrefix(a, "-") && strings.HasSuffix(a, "c") && i+2 < len(argv) {
				child := *sh
				child.exited = false
				return child.script(argv[i+2])
			}
		}
		return 0
	}
	if fn := builtins[name]; fn != nil {
		return fn(sh, argv[1:])
	}
	fmt.Fprintf(sh.err, "sh: %s: not found\n", argv[0])
	return 127
}

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
		fmt.Fprint(sh.out, sh.in)
		return 0
	}
	code := 0
	for _, f := range a {
		text, ok := sh.files()[f]
		if !ok {
			fmt.Fprintf(sh.err, "cat: can't open '%s': No such file or directory\n", f)
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
			return boolCode(sh.files()[a[1]] != "")
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
		v, ok := sh.env[a[0]]
		if ok {
			fmt.Fprintln(sh.out, v)
		}
		return boolCode(ok)
	}
	names := make([]string, 0, len(sh.env))
	for n := range sh.env {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Fprintf(sh.out, "%s=%s\n", n, sh.env[n])
	}
	return 0
}

func cmdExport(sh *shell, a []string) int {
	for _, s := range a {
		if k, v, ok := strings.Cut(s, "="); ok {
			sh.env[k] = v
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

// cmdListen serves until it is killed: httpd -p 8080, nc -l -p 80, python3 -m
// http.server 8000, nginx.
func cmdListen(sh *shell, a []string) int {
	port := 80
	for _, s := range a {
		s = s[strings.LastIndexByte(s, ':')+1:]
		s = strings.TrimPrefix(s, "-p")
		if n, err := strconv.Atoi(s); err == nil && n > 0 && n < 65536 {
			port = n
		}
	}
	if sh.c.run == nil || sh.c.run.process != sh.t.Process() {
		return 1
	}
	run := sh.c.run
	run.serves = append(append([]int(nil), run.serves...), port)
	run.b.IgnoreTerm = false
	sh.sleep(forever)
	return 0
}

// cmdKill sends a signal: only PID 1 can be meant.
func cmdKill(sh *shell, a []string) int {
	hard := false
	for _, s := range a {
		hard = hard || s == "-9" || s == "-KILL" || s == "-SIGKILL"
	}
	if len(a) == 0 || a[len(a)-1] != "1" {
		fmt.Fprintf(sh.err, "sh: kill: no such process\n")
		return 1
	}
	if !hard && sh.c.State == Running { // the kernel does not let PID 1 be killed from inside
		sh.r.signal(sh.c, sh.t.Causes())
	}
	return 0
}

func cmdCurl(sh *shell, a []string) int {
	url, limit, quiet, out := "", time.Duration(0), false, ""
	for i := 0; i < len(a); i++ {
		switch {
		case (a[i] == "-m" || a[i] == "--max-time" || a[i] == "--connect-timeout") && i+1 < len(a):
			f, _ := strconv.ParseFloat(a[i+1], 64)
			limit = time.Duration(f * float64(time.Second))
			i++
		case a[i] == "-o" && i+1 < len(a):
			out = a[i+1]
			i++
		case strings.HasPrefix(a[i], "-"):
			quiet = quiet || strings.HasPrefix(a[i], "-s") && !strings.Contains(a[i], "S")
		default:
			url = a[i]
		}
	}
	if url == "" {
		fmt.Fprintln(sh.err, "curl: (2) no URL specified")
		return 2
	}
	body, code, msg := sh.fetch(url, limit)
	switch out {
	case "":
		fmt.Fprint(sh.out, body)
	case "/dev/null":
	default:
		sh.files()[out] = body
	}
	if msg != "" && !quiet {
		fmt.Fprintln(sh.err, msg)
	}
	return code
}

func (sh *shell) fetch(url string, limit time.Duration) (string, int, string) {
	if sh.r.dialer == nil {
		return "", 7, "curl: (7) Failed to connect: Network is unreachable"
	}
	return sh.r.dialer.Curl(sh.t, sh.r.cfg.Node, sh.s.key(), url, limit)
}

func cmdWget(sh *shell, a []string) int {
	url, limit := "", time.Duration(0)
	for i := 0; i < len(a); i++ {
		switch {
		case a[i] == "-T" && i+1 < len(a):
			n, _ := strconv.Atoi(a[i+1])
			limit = time.Duration(n) * time.Second
			i++
		case strings.HasPrefix(a[i], "--timeout="):
			n, _ := strconv.Atoi(a[i][len("--timeout="):])
			limit = time.Duration(n) * time.Second
		case a[i] == "-O" && i+1 < len(a):
			i++
		case !strings.HasPrefix(a[i], "-"):
			url = a[i]
		}
	}
	body, code, msg := sh.fetch(url, limit)
	fmt.Fprint(sh.out, body)
	if code == 0 {
		return 0
	}
	switch code {
	case 6:
		msg = fmt.Sprintf("wget: bad address '%s'", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/"))
	case 7:
		msg = "wget: can't connect to remote host: Connection refused"
	case 28:
		msg = "wget: download timed out"
	}
	fmt.Fprintln(sh.err, msg)
	return 1
}

func cmdNslookup(sh *shell, a []string) int {
	if len(a) == 0 || sh.r.dialer == nil {
		return 1
	}
	addrs, err := sh.r.dialer.Lookup(sh.t, sh.r.cfg.Node, sh.s.key(), a[0])
	fmt.Fprint(sh.out, "Server:\t\t10.96.0.10\nAddress:\t10.96.0.10:53\n\n")
	if err != nil {
		fmt.Fprintf(sh.out, "** server can't find %s: NXDOMAIN\n\n", a[0])
		return 1
	}
	for _, ip := range addrs {
		fmt.Fprintf(sh.out, "Name:\t%s\nAddress: %s\n", a[0], ip)
	}
	fmt.Fprintln(sh.out)
	return 0
}
