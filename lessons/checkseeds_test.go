package lessons_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"kviz/cluster"
	"kviz/lessons"
	"kviz/tui/panes"
)

// counted is a small lesson about how many nodes there are, in which a part is replaced.
func counted(t *testing.T, old, new string) *lessons.Lesson {
	t.Helper()
	all, err := lessons.Load(fstest.MapFS{"L50/cleanup.sh": {Data: []byte("kubectl delete namespace there --wait=false")}, "L50/lesson.md": {Data: []byte(strings.Replace(`---
format: 2
version: 1
id: L50
title: Nodes
part: Tests
teaches: [how many nodes there are]
minutes: 5
---

### Look {#look} see

A cluster has nodes.

`+"```stage\nshow: map/picture\nspot: map:node/node-1\nstill: true\n```"+`

### How many? {#count} predict

Count.

`+"```question\nask: How many nodes are there?\nreveal: 'true'\nanswer: nodes.size()\nnear: 3x\n```"+`

### Which? {#which} predict

Look again.

`+"```question\nask: Is there a first node?\nreveal: 'true'\nchoices:\n- {text: One, right: true, why: So., is: nodes.size() > 0}\n- {text: None, why: No., is: nodes.size() == 0}\n```"+`

### Do it {#do} do

Make a namespace.

`+"```offer\n- kubectl create namespace there\n```"+`

`+"```goal\nid: made\nsay: the namespace is there\nedge: event.kind == \"store.commit\" && event.object.name == \"there\"\nhints: [kubectl can.]\n```"+`

### Your turn {#free} free

Try.

`+"```goal\nid: any\nsay: something\noptional: true\nlevel: 'true'\n```\n", old, new, 1))}}, panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// bare boots a small cluster with so many nodes, and a store without members.
func bare(ctx context.Context, nodes int) lessons.Boot {
	return func() (lessons.Cluster, io.Closer, error) {
		c, err := cluster.Boot(ctx, cluster.Config{Seed: 1, Nodes: nodes, Bare: true})
		if err != nil {
			return nil, nil, err
		}
		return c, c, c.WaitReady(ctx)
	}
}

// What is true on one seed only is refused: a claim, an answer that is marked, a number. Here
// the second seed has fewer nodes.
func TestWhatIsTrueOnOneSeedOnlyIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, old, new, want string }{
		{"all holds", "", "", ""},
		{"a claim", "still: true", "still: true\nclaim: nodes.size() == 3", `on seed 2: L50/lesson.md:11: beat "look": its claim does not hold`},
		{"a value", "A cluster has nodes.", `A cluster has nodes: {object("nodes", "", "node-3").metadata.name}.`, `on seed 2: L50/lesson.md:11: beat "look": a value of its caption is not known`},
		{"a choice", "is: nodes.size() > 0", "is: nodes.size() > 1", `on seed 2: L50/lesson.md:32: beat "which": "One" is marked right=true`},
		{"a number", "near: 3x\n", "", `beat "count": the answer is 3 on seed 1 and 1 on seed 2; say varies: true`},
		{"a number that varies", "near: 3x\n", "varies: true\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			seeds := []lessons.Seeded{{Seed: 1, Boot: bare(ctx, 3)}, {Seed: 2, Boot: bare(ctx, 1)}}
			err := lessons.NewTrials(2).Seeds(ctx, counted(t, c.old, c.new), seeds, nil)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("it says %v; want %q", err, c.want)
			}
		})
	}
}
