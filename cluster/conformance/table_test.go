package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2/types"
)

const (
	watch   = "[sig-api-machinery] Watchers should observe [Conformance]"
	webhook = "[sig-api-machinery] AdmissionWebhook [Privileged:ClusterAdmin] should deny crd creation [Conformance]"
	scale   = "[sig-apps] Deployment should scale [Conformance]"
	volume  = "[sig-storage] Volumes should mount [Conformance]"
)

func TestTheTableIsReadAsItWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "TABLE.md")
	before, err := readTable(path)
	if err != nil || before != nil {
		t.Fatalf("no table reads as %v, %v", before, err)
	}
	found := []result{
		{spec: watch, state: passes, seconds: 0.25, speed: 1},
		{spec: scale, state: fails, seconds: 301.5, speed: 20, reason: "timed out: 7 of 10"},
	}
	rows := merge(focuses, []string{watch, webhook, scale, volume}, nil, found)
	if err := writeTable(path, head, rows); err != nil {
		t.Fatal(err)
	}
	again, err := readTable(path)
	if err != nil || !reflect.DeepEqual(again, rows) {
		t.Fatalf("written %+v\nread    %+v, %v", rows, again, err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "4 Conformance specs: **1 pass, 1 fail,\n2 are left out**") {
		t.Errorf("the table begins (%v):\n%s", err, text)
	}
	for spec, reason := range map[string]string{webhook: "needs a container that answers over HTTPS", volume: "the group is not run yet"} {
		if !strings.Contains(string(text), "| "+spec+" | left out |  |  | "+reason+" |") {
			t.Errorf("no row leaves %s out because %s", spec, reason)
		}
	}

	// A later run of one focus changes its rows and no others.
	rows = merge(focuses, []string{watch, webhook, scale, volume}, again, []result{{spec: scale, state: passes, seconds: 2, speed: 20}})
	var states []state
	for _, r := range rows {
		states = append(states, r.state)
	}
	if want := []state{isLeftOut, passes, passes, isLeftOut}; !reflect.DeepEqual(states, want) {
		t.Errorf("%v, want %v", states, want)
	}
}

func TestOnlyWhatPassedBeforeMustPass(t *testing.T) {
	table := []result{{spec: watch, state: passes}, {spec: scale, state: fails}}
	if err := compare(table, []result{{spec: scale, state: fails}, {spec: watch, state: passes}}); err != nil {
		t.Error(err)
	}
	if err := compare(table, []result{{spec: watch, state: fails, reason: "no event came"}}); err == nil || !strings.Contains(err.Error(), "no event came") {
		t.Errorf("a spec that passed and fails: %v", err)
	}
}

func TestResultsAreReadFromTheReport(t *testing.T) {
	report := func(state types.SpecState, message string) types.SpecReport {
		return types.SpecReport{
			ContainerHierarchyTexts: []string{"[sig-api-machinery] Watchers"}, LeafNodeText: "should  observe [Conformance]",
			LeafNodeType: types.NodeTypeIt, State: state, RunTime: 250e6, Failure: types.Failure{Message: message},
		}
	}
	f := focus{speed: 3}
	for _, c := range []struct {
		report types.SpecReport
		want   result
		run    bool
	}{
		{report(types.SpecStatePassed, ""), result{watch, passes, 0.25, 3, ""}, true},
		{report(types.SpecStateTimedout, "in watch-4711:\n  a | b"), result{watch, fails, 0.25, 3, "in watch…: a / b"}, true},
		{report(types.SpecStateSkipped, "needs two nodes"), result{watch, isLeftOut, 0.25, 3, "needs two nodes"}, true},
		{report(types.SpecStateSkipped, ""), result{}, false}, // another focus
		{types.SpecReport{LeafNodeType: types.NodeTypeReportAfterSuite, State: types.SpecStatePassed}, result{}, false},
	} {
		if got, run := judged(c.report, f); got != c.want || run != c.run {
			t.Errorf("%v: %+v, %v; want %+v, %v", c.report.State, got, run, c.want, c.run)
		}
	}
}

func TestEveryFocusIsReachable(t *testing.T) {
	for _, run := range [][]focus{focuses, beyond} {
		for _, f := range run {
			spec := "[" + f.sig + "] " + f.name + " should work"
			if why := reasonOf(run, spec); why != "" {
				t.Errorf("%s is left out: %s", spec, why)
			}
			if beyondTables[f.sig] == "" && &run[0] == &beyond[0] {
				t.Errorf("%s has no table for what is not Conformance", f.sig)
			}
		}
	}
	if why := reasonOf(focuses, "[sig-storage] Volumes should work [Conformance]"); why != "the group is not run yet" {
		t.Errorf("Volumes: %q", why)
	}
}

// Of the Conformance specs of the workloads none is left out, and none fails.
func TestEveryWorkloadPasses(t *testing.T) {
	rows, err := readTable("TABLE.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range rows {
		if sig(r.spec) != "sig-apps" {
			continue
		}
		n++
		if r.state != passes {
			t.Errorf("%s: %s, %s", r.spec, r.state, r.reason)
		}
	}
	if n != 60 {
		t.Errorf("%d specs of sig-apps, want 60", n)
	}
}
