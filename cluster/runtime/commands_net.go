package runtime

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"kviz/cluster/sim"
)

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
			d, ok := sim.Seconds(a[i+1])
			if !ok {
				fmt.Fprintf(sh.err, "curl: option %s: expected a proper numerical parameter\n", a[i])
				return 2
			}
			limit = d
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
		if sh.disk().write(out, body) != nil {
			fmt.Fprintln(sh.err, "curl: (23) Failure writing output to destination")
			return 23
		}
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
