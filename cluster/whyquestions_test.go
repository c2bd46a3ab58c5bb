package cluster_test

import (
	"regexp"
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// drawn is what another draw of the dice, or another order of writes, changes in the
// answers to "why?".
var drawn = []varies{
	{regexp.MustCompile(`#[0-9]+([.][0-9]+)?`), "#N"},
	{regexp.MustCompile(`\b(version|revision) [0-9]+`), "$1 N"},
	{regexp.MustCompile(`\b(web|two)-[a-z0-9]{5,10}-[a-z0-9]{5}\b`), "$1-…-…"},
	{regexp.MustCompile(`\b(web|two)-[a-z0-9]{5,10}\b`), "$1-…"},
	{regexp.MustCompile(`\bnode-[0-9]\b`), "node-N"},
	{regexp.MustCompile(`[0-9.]+(s|ms|µs)\b`), "N$1"},
	{regexp.MustCompile(`\b([0-9]+ of )?[0-9]+ points`), "N points"},
	{regexp.MustCompile(`came second with [0-9]+`), "came second with N"},
	{regexp.MustCompile(`gave it [0-9]+`), "gave it N"},
	{regexp.MustCompile(`\b(NodeResources[A-Za-z]+|ImageLocality|TaintToleration|NodeAffinity|PodTopologySpread|InterPodAffinity) [0-9]+`), "$1 N"},
}

// Ten questions that people ask, each with the command that answers it.
func TestWhyAnswersWhatPeopleAsk(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 48, Bare: true, Nodes: 2})
		golden(t, "why-questions", typed(t, c, "testdata/why-questions.txt", drawn))
	})
}

// notFullMinute is a time at which no CronJob runs.
var notFullMinute = regexp.MustCompile(`[0-9-]+T[0-9:]+:(0[1-9]|[1-5][0-9])Z`)

// What kviz why says of the workloads, from one that is broken to one that has missed its time.
func TestWhyOfWorkloads(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 50, Bare: true})
		golden(t, "why-workloads", typed(t, c, "testdata/why-workloads.txt", drawn, []varies{
			{regexp.MustCompile(`\b(web|log)-[a-z0-9]{8,10}\b`), "$1-HASH"},
			{regexp.MustCompile(`\b(log|fails|index-[0-9]|tick-[0-9]+)-[a-z0-9]{5}\b`), "$1-XXXXX"},
			{notFullMinute, "TIME"},
		}))
	})
}

// What kviz why says of a store without a quorum, of what runs meanwhile, and of a member
// that was started again.
func TestWhyWithoutAQuorum(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 49, NoSync: true, Nodes: 1})
		golden(t, "why-store", typed(t, c, "testdata/why-store.txt", drawn, []varies{
			{regexp.MustCompile(`\bterm [0-9]+`), "term N"},
		}))
	})
}
