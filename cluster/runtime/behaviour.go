package runtime

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"kviz/cluster/images"
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
// Of anything else one thing is known, the place it has: a container that is there to
// finish ends with exit code 0 after 3 s; any other serves its declared ports and
// runs until it is stopped. What is assumed is said (see [ContainerConfig.Assume]).
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

	Hang  bool          // accepts connections and never answers
	Fails []Fail        // paths that answer an error
	Text  string        // what it answers; "" is "hello from POD"
	Files bool          // it answers with the file that a path names
	Burn  time.Duration // processor time that an answer takes
	Named bool          // it answers with its hostname, and nothing else
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
//	burn 100ms            use 100 ms of a processor for each answer
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
	case "burn":
		b.Burn, err = duration(rest)
		if err == nil && b.Burn > time.Minute {
			err = fmt.Errorf("want at most 1m for an answer, not %q", rest)
		}
	case "say":
		b.Say = append(b.Say, rest)
	default:
		return fmt.Errorf("unknown word %q: one of serve, start, exit, oom, fail, hang, ignore, term, text, burn, say", w[0])
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
	b, _ := choose(cfg)
	return b
}

// choose is behaviourOf without an annotation; assumed reports whether neither the image
// nor the command tells.
func choose(cfg *ContainerConfig) (b Behaviour, assumed bool) {
	repo := cfg.repository()
	argv := slices.Concat(cfg.Command, cfg.Args)
	img, known := cfg.image()
	if program, ok := cfg.program(); ok && cfg.lacks(program) {
		return Behaviour{Broken: runcFailed + "error during container init: " + notFound(program)}, false
	}
	if b, ok := testImage(repo, argv); ok {
		return b, false
	}
	if len(cfg.Command) == 0 {
		if repo == "docker.io/curlimages/curl" && len(argv) > 0 && (strings.HasPrefix(argv[0], "-") || cfg.lacks(argv[0])) {
			argv = slices.Insert(argv, 0, "curl") // as its entry point does
		}
		if known && img.Entry == images.Script && len(argv) > 0 && !strings.HasPrefix(argv[0], "-") && cfg.lacks(argv[0]) {
			return Behaviour{Exits: true, ExitCode: 127, Say: []string{"docker-entrypoint.sh: exec: " + named(argv[0]) + ": not found"}}, false
		}
		if b, ok := byImage(repo, cfg.Args, cfg); ok {
			return b, false
		}
	}
	if len(argv) > 0 {
		if b, ok := byCommand(argv); ok {
			return b, false
		}
	}
	b = Behaviour{Serve: cfg.Ports, Term: termTime}
	if len(argv) > 0 && daemons[path.Base(argv[0])] != 0 {
		if len(b.Serve) == 0 {
			b.Serve = []int{daemons[path.Base(argv[0])]}
		}
		return b, false
	}
	if img.Simulated && (len(cfg.Command) == 0 || img.Own(cfg.Command[0])) {
		if img.Serves > 0 && !slices.Contains(b.Serve, img.Serves) {
			b.Serve = append(slices.Clone(b.Serve), img.Serves)
		}
		return b, false
	}
	if cfg.Finishes {
		b.Exits, b.After = true, finishTime
	}
	return b, true
}

// runcFailed begins what containerd says of a container that could not be started.
const runcFailed = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: "

// daemons are programs that serve, and the port of each where the container declares none.
var daemons = map[string]int{
	"redis-server": 6379, "postgres": 5432, "memcached": 11211, "mysqld": 3306, "mariadbd": 3306, "mongod": 27017, "rabbitmq-server": 5672,
	"httpd-foreground": 80, "caddy": 80,
}

// shellImage reports whether what an image starts by itself is a shell.
func shellImage(repo string) bool {
	switch repo {
	case "docker.io/library/busybox", "docker.io/library/alpine", "docker.io/library/ubuntu",
		"docker.io/library/debian", "docker.io/library/bash", "docker.io/curlimages/curl", "docker.io/nicolaka/netshoot",
		"registry.k8s.io/busybox", "registry.k8s.io/e2e-test-images/busybox", "docker.io/library/fedora", "docker.io/library/almalinux",
		"docker.io/library/rockylinux", "docker.io/library/amazonlinux", "docker.io/library/buildpack-deps":
		return true
	}
	return false
}

// interpreter reports whether what an image starts by itself reads a language from its
// standard input, and so ends at once where that is not open.
func interpreter(repo string) bool {
	switch repo {
	case "docker.io/library/python", "docker.io/library/node", "docker.io/library/ruby", "docker.io/library/golang", "docker.io/library/perl",
		"docker.io/library/php", "docker.io/library/eclipse-temurin":
		return true
	}
	return false
}

// byImage is what an image does by itself, where that is known.
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
	if interpreter(repo) && len(args) == 0 && !cfg.Stdin {
		b.Exits = true
		return b, true
	}
	if repo == "registry.k8s.io/hpa-example" && len(args) == 0 { // it adds up a million square roots, which takes a tenth of a second
		b.Serve, b.Text, b.Burn = []int{80}, "OK!", 100*time.Millisecond
		return b, true
	}
	img, known := cfg.image()
	port := img.Serves
	if port == 0 || !known || len(args) > 0 && !strings.HasPrefix(args[0], "-") && args[0] != repo[strings.LastIndexByte(repo, '/')+1:] && args[0] != "netexec" {
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

// The images of Kubernetes' end-to-end tests. What agnhost is its first argument says
// (test/images/agnhost), of which mounttest, podcertificatesigner and mtls… are programs of their own; the other's program is in package resourceconsumer.
const (
	agnhost          = "registry.k8s.io/e2e-test-images/agnhost"
	resourceConsumer = "registry.k8s.io/e2e-test-images/resource-consumer"
)

// testImage is what they do, by the whole command line; false for what is not simulated.
func testImage(repo string, argv []string) (Behaviour, bool) {
	b := Behaviour{Term: termTime}
	port := 0
	switch {
	case repo == resourceConsumer && (len(argv) == 0 || strings.HasPrefix(argv[0], "-") || path.Base(argv[0]) == "consumer"):
		port = 8080
	case repo != agnhost:
		return b, false
	default:
		switch subcommand(argv) {
		case "pause", "mounttest", "mtlsclient", "podcertificatesigner":
			return b, true
		case "mtlsserver":
			for _, a := range argv {
				if at, found := strings.CutPrefix(a, "--listen="); found {
					if n, err := strconv.Atoi(at[strings.LastIndexByte(at, ':')+1:]); err == nil {
						b.Serve = []int{n}
					}
				}
			}
			return b, true
		case "serve-hostname":
			b.Named, port = true, 9376
		case "test-webserver":
			b.Files, port = true, 80
		case "resource-consumer-controller":
			port = 8080
		case "external-metrics":
			port = 6443
		default:
			return b, false
		}
	}
	for i, a := range argv {
		a, found := strings.CutPrefix("-"+strings.TrimLeft(a, "-"), "-port") // -port and --port
		if !found {
			continue
		}
		if a == "" && i+1 < len(argv) {
			a = argv[i+1]
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(a, "=")); err == nil {
			port = n
		}
	}
	b.Serve = []int{port}
	return b, true
}

// subcommand is the first argument of agnhost; "" without one.
func subcommand(argv []string) string {
	if len(argv) > 0 && path.Base(argv[0]) == "agnhost" {
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return ""
	}
	return argv[0]
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
	case "python", "python3":
		if !slices.Contains(argv, "http.server") {
			return b, false
		}
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
