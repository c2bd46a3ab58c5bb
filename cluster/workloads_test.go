package cluster_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"kviz/assets"
	"kviz/cluster"
	"kviz/raftstore/steady"
)

// workloadsVary is what chance calls the pods of Jobs and DaemonSets and the disks of claims, and when a CronJob's Jobs were due.
var workloadsVary = []varies{
	{regexp.MustCompile(`(\b[a-z]+-2[0-9]{7})\b`), "JOB"},
	{regexp.MustCompile(`\b(logs|disks|driver|careful|steady|squares|batch|fill|work|strict|flaky|again|later|slow|tidy|by-hand|long)-[b-z0-9]{5}\b`), "$1-xxxxx"},
	{regexp.MustCompile(`\b(shards|leader|tests)-([0-9]+)-[b-z0-9]{5}\b`), "$1-$2-xxxxx"},
	{regexp.MustCompile(`\bpvc-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "pvc-UID"},
	{regexp.MustCompile(`\bJOB-[b-z0-9]{5}\b`), "JOB-xxxxx"},
}

// Each manifest of a workload reaches the state that it would reach in any cluster:
// testdata/workloads has a transcript of each, which begins with its apply and ends with what
// became of it. There is none without a transcript.
func TestWorkloads(t *testing.T) {
	t.Parallel()
	manifests, err := fs.Glob(assets.Manifests(), "manifests/workloads/*.yaml")
	if err != nil || len(manifests) < 20 {
		t.Fatalf("%d manifests, want at least 20 (%v)", len(manifests), err)
	}
	for _, file := range manifests {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "manifests/workloads/"), ".yaml")
		t.Run(name, func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				c := boot(t, cluster.Config{Seed: 1, Bare: true})
				told := typed(t, c, "testdata/workloads/"+name+".txt", workloadsVary, varying, statefulSetTogether, daemonSetTogether)
				if first := "$ kubectl apply -f " + file + "\n"; !strings.HasPrefix(told, first) {
					t.Errorf("the transcript does not begin with %q", first)
				}
				golden(t, "workloads/"+name, told)
			})
		})
	}
}
