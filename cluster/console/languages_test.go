package console_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"kviz/cluster/console"
	"kviz/cluster/control"
)

// Programs of awk and jq that would take all memory or all time, or nest without end, are stopped with a word;
// the console is there for the next line.
func TestProgramsOfAwkAndJqAreBounded(t *testing.T) {
	b := newBench(t, console.Config{})
	for line, want := range map[string]string{
		`awk 'BEGIN {s = "x"; while (1) s = s s}'`:                        "stopped: it took more than",
		`awk 'BEGIN {s = "xx"; while (1) gsub(/x/, "&&", s)}'`:            "stopped: it took more than",
		`awk 'BEGIN {while (1) a[i++] = i}'`:                              "stopped: it took more than",
		`awk 'BEGIN {while (1) print "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}'`: "MiB of output",
		`awk 'function f(n) {return f(n + 1)} BEGIN {f(1)}'`:              "awk: ",
		`jq -n '[range(10000000000)] | length'`:                           "stopped: it took more than",
		`jq -n 'reduce range(60) as $i (1; [., .]) | tojson | length'`:    "stopped: it took more than",
		`jq -n 'reduce range(60) as $i (1; [., .])' -c`:                   "jq: ", // of output or of time, whichever comes first
		`jq -n 'reduce range(100) as $i ("x"; . + .) | length'`:           "stopped: it took more than",
		`jq -n 'reduce range(100000000) as $i (null; [.])' -c`:            "jq: ",
		`jq -n 'def f: 1 + f; f'`:                                         "jq: ",
		`jq -n '"x" * 1000000000000'`:                                     "jq: error",
		`jq -n "$(seq 20000 | tr -d '\n' | tr 0-9 '[')"`:                  "jq: ",
		`seq 100000 | tr -d '\n' | tr 0-9 '[' | jq .`:                     "jq: error (at <stdin>",
		`awk 'BEGIN {system("ls")}'`:                                      "the console runs no other programs",
		`awk 'BEGIN {"ls" | getline}'`:                                    "the console runs no other programs",
		`awk 'BEGIN {print 1 | "cat"}'`:                                   "the console runs no other programs",
		`awk 'BEGIN {'`:                                                   "awk: parse error",
		`jq -n '.a | ('`:                                                  "compile error",
		`jq -n 'import "a" as a; 1'`:                                      "jq: error",
		`jq -n 'input_line_number, nosuchfunction'`:                       "function not defined",
		`awk -z 1`:          "unknown option -z",
		`jq --no-such 1`:    "Unknown arguments: --no-such",
		`jq . nowhere.json`: "nowhere.json",
		`awk 1 nowhere.txt`: "nowhere.txt",
	} {
		if got := b.run(t, line); !strings.Contains(got, want) || !strings.Contains(got, "(exit ") {
			t.Errorf("want %q:\n%.600s", want, got)
		}
	}
	if got := b.run(t, "echo here"); got != "$ echo here\nhere\n" {
		t.Errorf("then: %s", got)
	}
}

// A program that goes on for ever ends when its command does.
func TestProgramsEndWithTheirCommand(t *testing.T) {
	b := newBench(t, console.Config{})
	for _, line := range []string{
		`awk 'BEGIN {print "begun"; fflush(); while (1) n++}'`, `jq -n '"begun", (def f: f; f)'`, `sed 's/^/begun/;p;:a;ba' <<< x`,
		`seq 99999999999 | awk 'NR == 1 {print "begun"; fflush()} {n += $1}'`, `seq 99999999999 | jq 'select(. == 1) | "begun"'`, `seq 99999999999`,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		out := &tells{then: cancel}
		var errs bytes.Buffer
		if exit := b.Exec(ctx, line, control.Streams{Out: out, Err: &errs, Source: "test"}); exit == 0 {
			t.Errorf("%s ended with 0: %s", line, errs.String())
		}
		cancel()
	}
}

// tells calls when something is written.
type tells struct{ then func() }

func (w *tells) Write(p []byte) (int, error) { w.then(); return len(p), nil }

// The time of programs is the cluster's, and what they draw is the same each time.
func TestProgramsSeeTheClustersTime(t *testing.T) {
	b := newBench(t, console.Config{})
	golden(t, "languages-time.txt", b.run(t,
		`sleep 59; date +%s`,
		`awk 'BEGIN {print systime(), strftime("%Y-%m-%dT%H:%M:%S"), strftime("%H:%M", 0)}'`,
		`awk 'BEGIN {srand(); print srand()}'`,
		`awk 'BEGIN {s = "srand()"; if (s ~ /srand()/) print s; srand ( ); print srand()}'`,
		`awk 'BEGIN {print rand() == rand(), rand() < 1}'`,
		`jq -n 'now, (now | todate)'`,
		`export COLOUR=green; awk 'BEGIN {print ENVIRON["COLOUR"]}'; jq -n '$ENV.COLOUR, env.COLOUR, (env | has("KVIZ_LANGUAGE"))'`,
		`date -d @0 -u; date -d '1 hour ago' +%H:%M; date -I; date -u +%Y-%m-%dT%H:%M:%SZ`,
	))
}

// What a stranger wrote reaches no files through a program either.
func TestProgramsInALessonsFolder(t *testing.T) {
	b := newBench(t, console.Config{})
	dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	for name, text := range map[string]string{secret: "secret", filepath.Join(dir, "mine"): "mine\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(secret, filepath.Join(dir, "link")); err != nil && runtime.GOOS != "windows" { // which may refuse links
		t.Fatal(err)
	}
	within := func(line string) string {
		var out bytes.Buffer
		b.Exec(t.Context(), line, control.Streams{Out: &out, Err: &out, Source: "test", Within: dir})
		return out.String()
	}
	for _, line := range []string{
		`awk 1 SECRET`, `awk 'BEGIN {getline x < "SECRET"; print x}'`, `awk 1 link`, `awk 1 mine link`, `jq -R . SECRET`, `jq -n --rawfile x SECRET '$x'`, `jq -R . link`, `jq -f SECRET`, `awk -f SECRET`,
		`sed -n p SECRET`, `sed 'r SECRET' mine`, `grep . link`, `grep -r . ..`, `sort SECRET`, `diff SECRET mine`, `cat < SECRET`, `tac link`, `xargs -I{} cat {} <<< SECRET`, `sh -c 'cat SECRET'`, `sh SECRET`, `sort -o SECRET mine`,
		`tee SECRET <<< overwritten`, `sed -i s/a/b/ SECRET`, `sed 'w SECRET' mine`, `uniq mine SECRET`, `awk '{print > "SECRET"}' mine`, `tee link <<< overwritten`, `sed -n 'w link' mine`, `watch -g cat SECRET`, `timeout 1s cat SECRET`,
		`diff <(cat SECRET) mine`, `export X=1; awk 'BEGIN {for (k in ENVIRON) print ENVIRON[k]}' | grep -v -e DIR -e '^1$'`,
	} {
		line = strings.NewReplacer("SECRET", secret, "DIR", dir).Replace(line)
		if got := within(line); strings.Contains(strings.ReplaceAll(got, secret, ""), "secret") {
			t.Errorf("%s: %s", line, got)
		}
		if text, err := os.ReadFile(secret); err != nil || string(text) != "secret" {
			t.Fatalf("%s has written %q, %v", line, text, err)
		}
	}
	for line, want := range map[string]string{
		`awk '{print toupper($0)}' mine`: "MINE\n", `jq -R . mine`: "\"mine\"\n", `sed s/m/w/ mine`: "wine\n", `tee new < mine; cat new`: "mine\nmine\n", `sh -c 'cat mine'`: "mine\n",
	} {
		if got := within(line); got != want {
			t.Errorf("%s: %q", line, got)
		}
	}
}
