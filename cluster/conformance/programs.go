package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2/types"
	"go.yaml.in/yaml/v2"
)

// programs are the paths of Kubernetes' end-to-end tests and of kviz.
type programs struct {
	e2e, kviz string
	beyond    bool // the specs that are not Conformance
}

// build builds those that are not given, into the user's cache folder.
func (p *programs) build(ctx context.Context) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	dir := filepath.Join(cache, "kviz-conformance")
	version, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes").Output()
	if err != nil {
		return fmt.Errorf("the version of Kubernetes: %w", err)
	}
	// A spec has the pod that the Pod Security Standards of its own version allow (hack/lib/version.sh).
	of, number := "k8s.io/component-base/version.git", strings.Split(strings.TrimPrefix(strings.TrimSpace(string(version)), "v"), ".")
	stamp := fmt.Sprintf("-s -w -X %[1]sVersion=%[2]s -X %[1]sMajor=%[3]s -X %[1]sMinor=%[4]s", of, strings.TrimSpace(string(version)), number[0], number[1])
	for _, b := range []struct {
		path *string
		name string
		args []string
	}{
		{&p.e2e, "e2e.test", []string{"test", "-c", "-ldflags=" + stamp, "-o", filepath.Join(dir, "e2e.test"), "k8s.io/kubernetes/test/e2e"}},
		{&p.kviz, "kviz", []string{"build", "-C", "../..", "-o", filepath.Join(dir, "kviz"), "./cmd/kviz"}},
	} {
		if *b.path != "" {
			continue
		}
		*b.path = filepath.Join(dir, b.name)
		fmt.Printf("building %s\n", b.name)
		c := exec.CommandContext(ctx, "go", b.args...)
		c.Stdout, c.Stderr = os.Stderr, os.Stderr
		if err := c.Run(); err != nil {
			return fmt.Errorf("build %s: %w", b.name, err)
		}
	}
	return nil
}

// specs are the names of all Conformance specs, in Kubernetes' order.
func (p programs) specs(ctx context.Context) ([]string, error) {
	out, err := exec.CommandContext(ctx, p.e2e, "--list-conformance-tests").Output()
	if err != nil {
		return nil, fmt.Errorf("list the specs: %w", err)
	}
	var list []struct{ Codename string }
	if err := yaml.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("list the specs: %w", err)
	}
	names := make([]string, len(list))
	for i, l := range list {
		names[i] = strings.Join(strings.Fields(l.Codename), " ")
	}
	return names, nil
}

// labels are ginkgo's filter of the specs that are run.
func (p programs) labels() string {
	if p.beyond {
		return "--ginkgo.label-filter=!Conformance"
	}
	return "--ginkgo.label-filter=Conformance"
}

// otherSpecs are the names of a group's specs that are not Conformance, with the unlisted ones.
func (p programs) otherSpecs(ctx context.Context, group string) ([]string, error) {
	dir, err := os.MkdirTemp("", "kviz-conformance-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	c := exec.CommandContext(ctx, p.e2e, "--ginkgo.dry-run", p.labels(), `--ginkgo.focus=\[`+group+`\]`, "--ginkgo.json-report=report.json", "--ginkgo.silence-skips")
	c.Dir = dir
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("list the specs: %w", err)
	}
	reports, err := readReport(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, r := range reports {
		for _, s := range r.SpecReports {
			if s.LeafNodeType == types.NodeTypeIt && !s.State.Is(types.SpecStateSkipped) {
				names = append(names, strings.Join(strings.Fields(s.FullText()), " "))
			}
		}
	}
	return names, nil
}

func readReport(dir string) (reports []types.Report, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &reports); err != nil {
		return nil, fmt.Errorf("report.json: %w", err)
	}
	return reports, nil
}

// suiteLimit is how long a focus may take; specs have limits of their own.
const suiteLimit = 40 * time.Minute

// besides is the environment of kviz that does not meet any other kviz of the machine.
func besides(dir string) []string { return append(os.Environ(), "XDG_RUNTIME_DIR="+dir, "TMPDIR="+dir) }

// manifests is their folder, from the one of this module.
const manifests = "../../assets/manifests"

// run runs the specs of one focus against a cluster of their own. What both programs
// print stays in dir.
func (p programs) run(ctx context.Context, f focus, dir string) (results []result, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	kubeconfig, stop, err := p.serve(ctx, dir, f.speed)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if f.zones {
		if err := inZones(ctx, kubeconfig); err != nil {
			return nil, err
		}
	}
	if f.manifest != "" {
		c := exec.CommandContext(ctx, p.kviz, "kubectl", "apply", "-f", filepath.Join(manifests, f.manifest))
		c.Env = append(besides(dir), "KUBECONFIG="+kubeconfig)
		if out, err := c.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("apply %s: %w: %s", f.manifest, err, out)
		}
	}
	args := []string{
		"--provider=skeleton", "--kubeconfig=" + kubeconfig, p.labels(), "--ginkgo.focus=" + f.pattern(),
		"--ginkgo.json-report=report.json", "--ginkgo.no-color", "--ginkgo.timeout=" + suiteLimit.String(), "--disable-log-dump",
	}
	var skip []string
	for _, l := range leftOut {
		skip = append(skip, regexp.QuoteMeta(l.specs))
	}
	if len(skip) > 0 {
		args = append(args, "--ginkgo.skip="+strings.Join(skip, "|"))
	}
	log, err := os.Create(filepath.Join(dir, "e2e.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c := exec.CommandContext(ctx, p.e2e, args...)
	c.Dir, c.Stdout, c.Stderr = dir, log, log
	ended := c.Run() // also when a spec fails, of which the report tells
	reports, err := readReport(dir)
	if err != nil {
		return nil, errors.Join(ended, err)
	}
	for _, r := range reports {
		for _, s := range r.SpecReports {
			if got, ok := judged(s, f); ok {
				results = append(results, got)
			}
			if s.LeafNodeType != types.NodeTypeIt && s.State.Is(types.SpecStateFailureStates) {
				err = errors.Join(err, fmt.Errorf("%v: %s", s.LeafNodeType, s.Failure.Message))
			}
		}
	}
	if len(results) == 0 && err == nil {
		err = errors.New("no spec was run")
	}
	return results, err
}

// judged is the result of one spec; false for what was not run.
func judged(s types.SpecReport, f focus) (result, bool) {
	if s.LeafNodeType != types.NodeTypeIt || s.State.Is(types.SpecStatePending|types.SpecStateSkipped) && s.Failure.Message == "" {
		return result{}, false
	}
	r := result{spec: strings.Join(strings.Fields(s.FullText()), " "), state: fails, seconds: s.RunTime.Seconds(), speed: f.speed}
	switch {
	case s.State.Is(types.SpecStatePassed):
		r.state = passes
	case s.State.Is(types.SpecStateSkipped):
		r.state = isLeftOut
	}
	if r.state != passes {
		r.reason = brief(s.Failure.Message)
	}
	return r, true
}

var (
	space = regexp.MustCompile(`\s+`)
	drawn = regexp.MustCompile(`-[0-9]{3,5}\b|-[0-9a-f]{8,10}\b|0x[0-9a-f]+|[0-9a-f]{8}-[0-9a-f-]{27}|127\.0\.0\.1:[0-9]+`) // other every time
)

// brief is the beginning of a message, on one line and without what differs from run
// to run.
func brief(message string) string {
	message = drawn.ReplaceAllString(space.ReplaceAllString(strings.ReplaceAll(message, "|", "/"), " "), "…")
	const limit = 200
	if runes := []rune(message); len(runes) > limit {
		message = string(runes[:limit]) + " …"
	}
	return message
}

// serve starts kviz and waits until its nodes are ready.
func (p programs) serve(ctx context.Context, dir string, speed int) (kubeconfig string, stop func() error, err error) {
	log, err := os.Create(filepath.Join(dir, "kviz.log"))
	if err != nil {
		return "", nil, err
	}
	kubeconfig = filepath.Join(dir, "kubeconfig")
	c := exec.CommandContext(ctx, p.kviz, "serve", "--kubeconfig", kubeconfig, "--speed", strconv.Itoa(speed))
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.Env = besides(dir)
	c.Stderr = log
	out, err := c.StdoutPipe()
	if err != nil {
		return "", nil, errors.Join(err, log.Close())
	}
	if err := c.Start(); err != nil {
		return "", nil, errors.Join(err, log.Close())
	}
	stop = func() error {
		// It ends in order, but an exit status is no news here.
		if err := c.Process.Signal(os.Interrupt); err == nil {
			_ = c.Wait()
		}
		return log.Close()
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return "", nil, errors.Join(fmt.Errorf("kviz serve ended early; see %s", log.Name()), stop())
		}
		if strings.Contains(line, "nodes ready") {
			go func() { _, _ = io.Copy(log, lines) }() // until it ends
			return kubeconfig, stop, nil
		}
	}
}
