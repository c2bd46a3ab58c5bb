package etcd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"kviz/cluster/console/command"
)

// This file puts order into etcdctl endpoint health, which asks all members at
// once and shows them as the answers come: both would be chance.

// turns lets calls to one member after the other through.
type turns struct {
	mu    sync.Mutex
	left  []string // whose turn has not ended
	moved chan struct{}
}

func newTurns(members []string) *turns { return &turns{left: members, moved: make(chan struct{})} }

// await waits for a member's turn.
func (t *turns) await(ctx context.Context, member string) {
	for t != nil {
		t.mu.Lock()
		i := slices.Index(t.left, member)
		moved := t.moved
		t.mu.Unlock()
		if i <= 0 {
			return
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
}

// end ends a member's turn.
func (t *turns) end(member string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.left, member); i >= 0 {
		t.left = slices.Delete(slices.Clone(t.left), i, i+1)
		close(t.moved)
		t.moved = make(chan struct{})
	}
}

// atMember finds the member that a piece of etcdctl's output is of.
var atMember = regexp.MustCompile(`([A-Za-z0-9_.-]+):2379`)

// sorted sorts what etcdctl endpoint health shows of the members as they were
// asked. Lines of no member stay where they are.
func sorted(out []byte, format string, members []string) []byte {
	of := func(piece string) int {
		m := atMember.FindStringSubmatch(piece)
		if m == nil {
			return -1
		}
		return slices.Index(members, m[1])
	}
	switch format {
	case "json":
		var list []json.RawMessage
		if json.Unmarshal(out, &list) != nil {
			return out // no list: an error in words
		}
		slices.SortStableFunc(list, func(a, b json.RawMessage) int { return of(string(a)) - of(string(b)) })
		b, err := json.Marshal(list)
		if err != nil {
			return out
		}
		return append(b, '\n')
	case "fields": // a paragraph each
		pieces := strings.SplitAfter(string(out), "\n\n")
		sortAmong(pieces, of)
		return []byte(strings.Join(pieces, ""))
	}
	lines := slices.Collect(strings.Lines(string(out)))
	sortAmong(lines, of)
	return []byte(strings.Join(lines, ""))
}

// sortAmong sorts the pieces that are of a member among the places they have.
func sortAmong(pieces []string, of func(string) int) {
	var places []int
	var theirs []string
	for i, p := range pieces {
		if of(p) >= 0 {
			places, theirs = append(places, i), append(theirs, p)
		}
	}
	slices.SortStableFunc(theirs, func(a, b string) int { return of(a) - of(b) })
	for i, p := range theirs {
		pieces[places[i]] = p
	}
}

// inOrder runs endpoint health and shows the members in the order they were asked in.
func inOrder(inv *command.Invocation, format string, members []string, tool func(*command.Invocation) int) int {
	var out, errOut bytes.Buffer
	shown := *inv
	shown.Out, shown.Err = &out, &errOut
	exit := tool(&shown)
	fmt.Fprintf(inv.Out, "%s", sorted(out.Bytes(), format, members))
	fmt.Fprintf(inv.Err, "%s", sorted(errOut.Bytes(), "simple", members))
	return exit
}
