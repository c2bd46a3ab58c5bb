package runtime

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"kviz/cluster/sim"
)

// Behaviour is what a simulated container does. It is chosen in this order:
//
//  1. the pod annotation kviz.dev/behaviour, or kviz.dev/behaviour.CONTAINER for
//     one container: clauses separated by ";" (see [ParseBehaviour])
//  2. command and args, where they are a command the simulation knows: sleep,
//     true, false, sh -c SCRIPT (script.go), httpd, …
//  3. the image (see byImage)
//
// Anything else serves the container's declared ports and runs for ever.
type Behaviour struct {
	Serve    []int         // ports it listens on
	Start    time.Duration // from start until it listens
	Exits    bool          // ends by itself
	ExitCode int32
	After    time.Duration // from start until it ends
	OOM      bool          // ends because the kernel killed it

	IgnoreTerm bool          // as a PID 1 without a handler does: only KILL ends it
	Term       time.Duration // from TERM until it ends
	TermCode   int32

	Hang  bool   // accepts connections and never answers
	Fails []Fail // paths that answer an error
	Text  string // what it answers; "" is "hello from POD"
	Say   []string

	Script []string // argv of a shell that runs for real
	Broken string   // StartContainer fails with this
}

// Fail says that a path answers an HTTP error for a while.
type Fail struct {
	Path  string // "" is every path
	Code  int
	After time.Duration // from start
	For   time.Duration // 0 is for ever
}

// BehaviourAnnotation is the pod annotation that chooses a behaviour.
const BehaviourAnnotation = "kviz.dev/behaviour"

// ParseBehaviour reads the annotation: clauses separated by ";".
//
//	serve 8080            listen on a port (more ports: serve 80 443)
//	start 30s             listen only after 30 s
//	exit 1                end at once with exit code 1
//	exit 0 after 5s       end after 5 s
//	oom after 10s         be killed by the kernel for its memory after 10 s
//	fail /healthz         answer 500 on a path (fail * for every path)
//	fail /healthz after 20s for 1m
//	hang                  accept connections, never answer
//	ignore term           do not end on TERM
//	term 5s               take 5 s to end after TERM
//	text WORDS            answer WORDS
//	say WORDS             write WORDS to the log
func ParseBehaviour(s string) (Behaviour, error) {
	b := Behaviour{Term: termTime}
	for clause := range strings.SplitSeq(s, ";") {
		words := strings.Fields(clause)
		if len(words) == 0 {
			continue
		}
		if err := b.clause(words); err != nil {
			return b, fmt.Errorf("%s: %q: %w", BehaviourAnnotation, strings.TrimSpace(clause), err)
		}
	}
	return b, nil
}

// termTime is how long an ordinary server takes to end after TERM.
const termTime = 120 * time.Millisecond

func (b *Behaviour) clause(w []string) (err error) {
	rest := strings.Join(w[1:], " ")
	switch w[0] {
	case "serve":
		for _, p := range w[1:] {
			n, err := strconv.Atoi(p)
			if err != nil || n < 1 || n > 65535 {
				return fmt.Errorf("want a port from 1 to 65535, not %q", p)
			}
			b.Serve = append(b.Serve, n)
		}
	case "start":
		b.Start, err = duration(rest)
	case "exit", "oom":
		b.Exits, b.OOM = true, w[0] == "oom"
		args := w[1:]
		if b.OOM {
			b.ExitCode = 137
		} else if len(args) > 0 && args[0] != "after" {
			n, err := strconv.ParseInt(args[0], 10, 32)
			if err != nil || n < 0 || n > 255 {
				return fmt.Errorf("want an exit code from 0 to 255, not %q", args[0])
			}
			b.ExitCode, args = int32(n), args[1:]
		}
		b.After, _, err = afterFor(args)
	case "fail":
		f := Fail{Code: 500}
		if len(w) > 1 && w[1] != "*" {
			f.Path = w[1]
		}
		f.After, f.For, err = afterFor(w[min(2, len(w)):])
		b.Fails = append(b.Fails, f)
	case "hang":
		b.Hang = true
	case "ignore":
		b.IgnoreTerm = true
	case "term":
		b.Term, err = duration(rest)
	case "text":
		b.Text = rest
	case "say":
		b.Say = append(b.Say, rest)
	default:
		return fmt.Errorf("unknown word %q: one of serve, start, exit, oom, fail, hang, ignore, term, text, say", w[0])
	}
	return err
}

func duration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = fmt.Errorf("want a duration such as 20s, not %q", s)
	}
	return d, err
}

func afterFor(w []string) (after, for_ time.Duration, err error) {
	for len(w) >= 2 {
		d, err := duration(w[1])
		if err != nil {
			return 0, 0, err
		}
		switch w[0] {
		case "after":
			after = d
		case "for":
			for_ = d
		default:
			return 0, 0, fmt.Errorf("want after or for, not %q", w[0])
		}
		w = w[2:]
	}
	if len(w) > 0 {
		return 0, 0, fmt.Errorf("%q needs a duration such as 20s", w[0])
	}
	return after, for_, nil
}

// behaviourOf chooses a container's behaviour. An annotation that cannot be read
// breaks the container, in its own words.
func behaviourOf(cfg *ContainerConfig) Behaviour {
	if cfg.Behaviour != "" {
		b, err := ParseBehaviour(cfg.Behaviour)
		if err != nil {
			b.Broken = err.Error()
		}
		return b
	}
	repo := cfg.repository()
	argv := append(append([]string(nil), cfg.Command...), cfg.Args...)
	if len(cfg.Command) == 0 {
		if b, ok := byImage(repo, cfg.Args, cfg); ok {
			return b
		}
	}
	if len(argv) > 0 {
		if b, ok := byCommand(argv); ok {
			return b
		}
		if shellImage(repo) {
			return Behaviour{Broken: fmt.Sprintf(`failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: exec: %q: executable file not found in $PATH`, argv[0])}
		}
	}
	return Behaviour{Serve: cfg.Ports, Term: termTime}
}

// shellImage reports whether an image holds a shell and its usual commands, and
// so nothing else.
func shellImage(repo string) bool {
	switch repo {
	case "docker.io/library/busybox", "docker.io/library/alpine", "docker.io/library/ubuntu",
		"docker.io/library/debian", "docker.io/library/bash", "docker.io/curlimages/curl", "docker.io/nicolaka/netshoot":
		return true
	}
	return false
}

// servers are images that serve, by repository.
var servers = map[string]int{
	"docker.io/library/nginx": 80, "docker.io/nginxinc/nginx-unprivileged": 8080, "docker.io/nginxdemos/hello": 80,
	"docker.io/library/httpd": 80, "docker.io/library/caddy": 80, "docker.io/traefik/whoami": 80,
	"docker.io/library/redis": 6379, "docker.io/library/memcached": 11211, "docker.io/library/mongo": 27017,
	"docker.io/library/rabbitmq": 5672, "docker.io/hashicorp/http-echo": 5678, "docker.io/kviz/echo": 8080,
	"registry.k8s.io/echoserver": 8080, "registry.k8s.io/e2e-test-images/agnhost": 8080,
	"docker.io/library/postgres": 5432, "docker.io/library/mysql": 3306,
}

// byImage is the catalogue of images whose own entry point is known.
func byImage(repo string, args []string, cfg *ContainerConfig) (Behaviour, bool) {
	b := Behaviour{Term: termTime}
	switch repo {
	case "docker.io/kviz/crash": // kviz/crash [AFTER]: exit 1, after 2 s
		b.Exits, b.ExitCode, b.After = true, 1, durationArg(args, 0, 2*time.Second)
		b.Say = []string{"starting", "fatal: cannot reach the database"}
		return b, true
	case "docker.io/kviz/exit": // kviz/exit [CODE] [AFTER]
		b.Exits, b.After = true, durationArg(args, 1, time.Second)
		if len(args) > 0 {
			n, _ := strconv.ParseInt(args[0], 10, 32)
			b.ExitCode = int32(n)
		}
		return b, true
	case "docker.io/kviz/slow-start": // kviz/slow-start [AFTER]: listens on 8080 after 30 s
		b.Serve, b.Start = []int{8080}, durationArg(args, 0, 30*time.Second)
		return b, true
	case "registry.k8s.io/pause":
		return b, true
	case "docker.io/library/postgres", "docker.io/library/mysql":
		need := map[string]string{"docker.io/library/postgres": "POSTGRES_PASSWORD", "docker.io/library/mysql": "MYSQL_ROOT_PASSWORD"}[repo]
		if len(args) == 0 && cfg.Env[need] == "" {
			b.Exits, b.ExitCode, b.After = true, 1, 300*time.Millisecond
			b.Say = []string{"Error: Database is uninitialized and superuser password is not specified.", "       You must specify " + need + " to a non-empty value."}
			return b, true
		}
	}
	if shellImage(repo) && len(args) == 0 && cfg.Stdin {
		b.Script, b.IgnoreTerm = []string{"sh"}, true
		return b, true
	}
	if shellImage(repo) && len(args) == 0 {
		b.Exits = true // a shell whose input is at its end
		return b, true
	}
	port, ok := servers[repo]
	if !ok || len(args) > 0 && !strings.HasPrefix(args[0], "-") && args[0] != repo[strings.LastIndexByte(repo, '/')+1:] && args[0] != "netexec" {
		return b, false
	}
	b.Serve = []int{port}
	for _, a := range args {
		if text, ok := strings.CutPrefix(a, "-text="); ok {
			b.Text = text
		}
		if p, ok := strings.CutPrefix(a, "--http-port="); ok {
			if n, err := strconv.Atoi(p); err == nil {
				b.Serve = []int{n}
			}
		}
	}
	return b, true
}

func durationArg(args []string, i int, def time.Duration) time.Duration {
	if i < len(args) {
		if d, err := time.ParseDuration(args[i]); err == nil {
			return d
		}
	}
	return def
}

// byCommand is what a command line does, where the simulation knows it.
func byCommand(argv []string) (Behaviour, bool) {
	b := Behaviour{Term: termTime}
	base := argv[0][strings.LastIndexByte(argv[0], '/')+1:]
	switch base {
	case "sleep":
		d, err := parseSleep(argv[1:])
		if err != nil {
			b.Exits, b.ExitCode, b.Say = true, 1, []string{err.Error()}
			return b, true
		}
		b.Exits, b.After = d != forever, d
		b.IgnoreTerm = true // PID 1 has no default handlers: the kernel ignores TERM
		return b, true
	case "true", "false":
		b.Exits = true
		if base == "false" {
			b.ExitCode = 1
		}
		return b, true
	case "pause":
		return b, true
	case "nginx":
		b.Serve = []int{80}
		return b, true
	}
	if _, ok := builtins[base]; ok || base == "sh" || base == "bash" || base == "ash" {
		b.Script = argv
		b.IgnoreTerm = true
		return b, true
	}
	return b, false
}

// forever is a sleep that does not end.
const forever = time.Duration(1<<62 - 1)

func parseSleep(args []string) (time.Duration, error) {
	if len(args) == 0 {
		return 0, fmt.Errorf("sleep: missing operand")
	}
	var total time.Duration
	for _, a := range args {
		if a == "infinity" || a == "inf" {
			return forever, nil
		}
		if d, ok := sim.Seconds(a); ok {
			total += d
			continue
		}
		d, err := time.ParseDuration(strings.Replace(a, "d", "h", 1))
		if err != nil || d < 0 {
			return 0, fmt.Errorf("sleep: invalid time interval '%s'", a)
		}
		if strings.HasSuffix(a, "d") {
			d *= 24
		}
		total += d
	}
	return total, nil
}
