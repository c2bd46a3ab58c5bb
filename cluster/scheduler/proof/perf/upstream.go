package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"go.etcd.io/etcd/server/v3/etcdmain"
	perf "k8s.io/kubernetes/test/integration/scheduler_perf"
	"sigs.k8s.io/yaml"

	"kviz/cluster/bench"
)

const (
	// etcdName is how scheduler_perf calls the program that it starts as its store, and upstreamSide is
	// the word with which this program runs scheduler_perf.
	etcdName     = "etcd"
	upstreamSide = "scheduler_perf"
)

// runEtcd is etcd itself, with the command line that scheduler_perf gives it.
func runEtcd() { etcdmain.Main(os.Args) }

// runSchedulerPerf is what go test would make of a benchmark of scheduler_perf: it runs the test cases of a
// file, prints what it measured and ends the process.
func runSchedulerPerf(args []string) {
	testing.Init()
	os.Args = append([]string{os.Args[0], "-test.bench=.", "-test.benchtime=1x", "-test.timeout=30m"}, args[1:]...)
	if err := perf.InitTests(); err != nil {
		fmt.Fprintln(os.Stderr, "scheduler_perf:", err)
		os.Exit(1)
	}
	testing.Main(regexp.MatchString, nil, []testing.InternalBenchmark{{Name: "BenchmarkPerfScheduling", F: func(b *testing.B) {
		perf.RunBenchmarkPerfScheduling(b, args[0], "kviz", nil)
	}}}, nil)
}

// kubernetes is the other side.
type kubernetes struct {
	self, dir string
	source    string // of scheduler_perf
	cache     string // of modules, in which it is
	path      string // with an etcd in it
}

func newKubernetes(ctx context.Context, dir string) (*kubernetes, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	k := &kubernetes{self: self, dir: dir, path: filepath.Join(dir, "bin")}
	tree, err := output(exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes"))
	if err != nil {
		return nil, err
	}
	cache, err := output(exec.CommandContext(ctx, "go", "env", "GOMODCACHE"))
	if err != nil {
		return nil, err
	}
	k.source, k.cache = filepath.Join(strings.TrimSpace(string(tree)), "test", "integration", "scheduler_perf"), strings.TrimSpace(string(cache))
	return k, errors.Join(os.Mkdir(k.path, 0o700), os.Symlink(self, filepath.Join(k.path, etcdName)))
}

// groups are the folders of scheduler_perf in which the loads are.
var groups = map[string]string{
	"SchedulingBasic": "misc", "TopologySpreading": "topology_spreading", "SchedulingPodAntiAffinity": "affinity", "PreemptionBasic": "default_preemption",
}

// took is what scheduler_perf prints of the time from the first pod's creation until all are bound, in seconds.
var took = regexp.MustCompile(`([0-9.e+-]+) SchedulingDuration/Duration`)

// measure measures a load once.
func (k *kubernetes) measure(ctx context.Context, l bench.SchedulerLoad) (float64, error) {
	group := filepath.Join(k.source, groups[l.Name])
	cases, err := sized(filepath.Join(group, "performance-config.yaml"), l)
	if err != nil {
		return 0, err
	}
	file := filepath.Join(k.dir, l.Name+".yaml")
	if err := os.WriteFile(file, cases, 0o600); err != nil {
		return 0, err
	}
	c := exec.CommandContext(ctx, k.self, upstreamSide, file, "-data-items-dir="+k.dir)
	c.Dir = group // its templates are named from there
	// Where the environment names ARTIFACTS, its log goes to a file in there.
	c.Env = append(os.Environ(), "PATH="+k.path+string(filepath.ListSeparator)+os.Getenv("PATH"), "TMPDIR="+k.dir, "ARTIFACTS="+k.dir)
	if _, file, _, _ := runtime.Caller(0); !filepath.IsAbs(file) {
		// Its test server looks for its certificates beside its source, which a binary built with
		// -trimpath names as if the module cache were the root; Bazel says where that is like this.
		c.Env = append(c.Env, "TEST_SRCDIR="+k.cache, "TEST_WORKSPACE=.")
	}
	out, err := output(c)
	if err != nil {
		return 0, err
	}
	found := took.FindSubmatch(out)
	if found == nil {
		return 0, fmt.Errorf("scheduler_perf does not say how long it took. It said: %s", out[max(0, len(out)-1000):])
	}
	seconds, err := strconv.ParseFloat(string(found[1]), 64)
	return float64(l.Pods) / seconds, err
}

// sized is one of scheduler_perf's test cases with the numbers of a load.
func sized(file string, l bench.SchedulerLoad) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var cases []map[string]any
	if err := yaml.Unmarshal(text, &cases); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, c := range cases {
		if c["name"] != l.Name {
			continue
		}
		c["workloads"] = []map[string]any{{
			"name": "load", "labels": []string{"performance"},
			"params": map[string]int{"initNodes": l.Nodes, "initPods": l.Before, "measurePods": l.Pods},
		}}
		return yaml.Marshal([]map[string]any{c})
	}
	return nil, fmt.Errorf("%s: no %s", file, l.Name)
}
