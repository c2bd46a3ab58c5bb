package panes_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/raftstore/steady"
	"kviz/tui/grid"
	"kviz/tui/motion"
	"kviz/tui/pane"
	"kviz/tui/pane/clustermap"
	"kviz/tui/pane/store"
	"kviz/tui/tuitest"
)

// raftStory is a store to which anything happens that can happen to one.
type raftStory struct {
	t     *rapid.T
	tape  *tuitest.Tape
	names []string
	terms map[string]uint64
	up    map[string]bool
	term  uint64
	msg   uint64
}

func newRaftStory(t *rapid.T) *raftStory {
	n := rapid.SampledFrom([]int{3, 3, 5, 4}).Draw(t, "members")
	s := &raftStory{t: t, tape: tuitest.Calm(n, 3), names: strings.Split("abcde", "")[:n], terms: map[string]uint64{}, up: map[string]bool{}, term: 1, msg: 100_000}
	for _, m := range s.names {
		s.terms[m], s.up[m] = 1, true
	}
	return s
}

func (s *raftStory) emit(member string, k trace.Kind, payload any) {
	s.tape.Emit(trace.CompMember, member, k, trace.Ref{}, payload)
}

func (s *raftStory) two() (string, string) {
	two := rapid.Permutation(s.names).Draw(s.t, "two")
	return two[0], two[1]
}

// ballot is a question for a vote, or its answer, on its way.
func (s *raftStory) ballot(kind trace.Kind, rpc string, from, to string, term uint64, granted bool) {
	s.msg++
	x := &trace.RaftMessage{Serial: s.msg, RPC: rpc, From: from, To: to, Term: term}
	s.emit(from, trace.RaftSend, x)
	if kind == trace.RaftReply {
		y := *x
		y.Answer, y.OK, y.ReplyTerm = true, granted, term
		s.emit(from, kind, &y)
	}
}

func (s *raftStory) happens() {
	s.tape.After(time.Duration(rapid.IntRange(0, 2000).Draw(s.t, "ms")) * time.Millisecond)
	fault := func(what, target, detail string) {
		s.tape.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: what, Target: target, Detail: detail})
	}
	a, b := s.two()
	kind := rapid.SampledFrom([]trace.Kind{trace.RaftSend, trace.RaftReply}).Draw(s.t, "answered")
	granted := rapid.Bool().Draw(s.t, "granted")
	switch what := rapid.SampledFrom([]string{
		"pre-vote", "vote", "stands", "leads", "follows", "down", "up", "cut", "mute", "deafen", "partition", "slow", "disk", "heal", "write", "timeout", "voted", "learner",
	}).Draw(s.t, "what"); what {
	case "pre-vote":
		s.ballot(kind, "RequestPreVote", a, b, s.terms[a]+uint64(rapid.IntRange(0, 1).Draw(s.t, "next")), granted)
	case "vote":
		s.ballot(kind, "RequestVote", a, b, s.terms[a], granted)
	case "stands", "leads", "follows":
		if !s.up[a] {
			return
		}
		if what == "stands" {
			s.term++
			s.terms[a] = s.term
		}
		role := map[string]string{"stands": "candidate", "leads": "leader", "follows": "follower"}[what]
		leader := map[string]string{"leads": a, "follows": b}[what]
		s.emit(a, trace.MemberRole, &trace.MemberState{Member: a, Role: role, Term: s.terms[a], Leader: leader})
	case "voted":
		s.emit(a, trace.RaftVote, &trace.RaftVoteRecord{Member: a, Term: s.terms[a], Candidate: b})
	case "down":
		s.up[a] = false
		s.emit(a, trace.MemberDown, &trace.MemberState{Member: a, Role: "stopped", Term: s.terms[a], Reason: "crashed"})
	case "up":
		s.up[a] = true
		s.emit(a, trace.MemberUp, &trace.MemberState{Member: a, Role: "follower", Term: s.terms[a]})
	case "cut", "mute", "deafen":
		detail := ""
		if granted {
			detail = b
		}
		fault(what, "member/"+a, detail)
	case "partition":
		fault(what, "store", strings.Join(s.names[:len(s.names)/2], ",")+" "+strings.Join(s.names[len(s.names)/2:], ","))
	case "slow":
		fault("delay", "member/"+a, b+" 200ms")
	case "disk":
		fault("slow", "member/"+a, "400ms")
	case "heal":
		for _, m := range s.names {
			s.tape.Emit(trace.CompSimulation, "", trace.FaultHealed, trace.Ref{}, &trace.Fault{
				Fault: "heal", Target: "member/" + m, Links: true, Undoes: []string{"cut", "mute", "deafen", "delay", "partition", "slow"},
			})
		}
	case "write":
		index := uint64(rapid.SampledFrom([]int{40, 999, 1000, 14753, 99999, 123456, 7654321}).Draw(s.t, "index"))
		s.emit(a, trace.RaftAppend, &trace.RaftLog{Member: a, First: index, Last: index, Entries: []trace.RaftEntry{{Index: index, Term: s.terms[a], Type: "command"}}})
		s.tape.Commit(tuitest.Ref("ConfigMap", "demo", "settings"), "configmaps", nil)
	case "timeout":
		s.emit(a, trace.RaftTimeout, &trace.RaftPatience{
			Member: a, Leader: b, Left: rapid.IntRange(0, 4).Draw(s.t, "left"), AtLeast: 250 * time.Millisecond, AtMost: 500 * time.Millisecond, Factor: 1,
		})
	case "learner":
		if len(s.names) < 5 {
			name := "e"
			s.names = append(s.names[:len(s.names):len(s.names)], name)
			s.up[name], s.terms[name] = true, s.term
			s.emit(name, trace.MemberJoined, &trace.Membership{Member: name, Learner: true})
			s.emit(name, trace.MemberUp, &trace.MemberState{Member: name, Role: "follower", Term: s.term})
		}
	}
}

// Whatever happens to a store, and whatever moves meanwhile: who leads, who stands, who is down, in which term
// everybody is and how far its log goes is drawn as the state has it, at every size; and what moves covers no word.
func TestThePictureIsTheState(t *testing.T) {
	steady.Check(t, func(t *rapid.T) {
		story := newRaftStory(t)
		player := motion.New(motion.Full)
		seen := 0
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			story.happens()
		}
		h := story.tape.History()
		events, _, _ := h.Stream().Read(0, 1<<20)
		for seen < len(events) {
			n := min(rapid.IntRange(1, 60).Draw(t, "seen"), len(events)-seen)
			seen += n
			s := h.At(uint64(seen - 1))
			player.Catch(events[seen-n:seen], s, motion.Live(rapid.SampledFrom([]float64{0.02, 1, 10}).Draw(t, "speed")))
			player.Tick(time.Duration(rapid.IntRange(1, 900).Draw(t, "passed")) * time.Millisecond)
			if seen < len(events)-150 { // what was before the story
				continue
			}
			for _, size := range [][2]int{{80, 18}, {120, 33}, {200, 53}} {
				at := fmt.Sprintf("%dx%d after %d of %d events", size[0], size[1], seen, len(events))
				shown := drawn(t, at+", raft", store.New(), h, s, player.Shot(), size)
				ringTells(t, at, shown, s)
			}
			for _, size := range [][2]int{{58, 11}, {80, 18}, {120, 33}, {200, 53}} {
				at := fmt.Sprintf("%dx%d after %d of %d events", size[0], size[1], seen, len(events))
				shown := drawn(t, at+", map", clustermap.New(), h, s, player.Shot(), size)
				mapTells(t, at, shown, s, size[0])
			}
		}
	})
}

// drawn is a pane with what moves on it, whose words are those that stand there at rest.
func drawn(t *rapid.T, at string, p pane.Pane, h *view.History, s *view.State, shot *motion.Shot, size [2]int) string {
	draw := func(shot *motion.Shot) *grid.Grid {
		g := grid.New(size[0], size[1])
		pane.NewHost(p, "1").Draw(g, grid.Rect{W: size[0], H: size[1]}, pane.Frame{
			S: s, H: h, Motion: shot, W: size[0] - 3, Rows: size[1] - 2, Focused: true, Live: true,
		})
		return g
	}
	still, moving := draw(nil), draw(shot)
	for y := range size[1] {
		for x := range size[0] {
			was, is := still.At(x, y).R, moving.At(x, y).R
			if (unicode.IsLetter(was) || unicode.IsDigit(was) || was == '…') && was != is {
				t.Fatalf("%s: %q stands where %q is said, in column %d of row %d:\n%s\nat rest:\n%s", at, is, was, x, y, moving.Plane(), still.Plane())
			}
		}
	}
	return moving.Plane()
}

// sign is the mark of a member's role.
func sign(m *view.Member) string {
	switch {
	case !m.Up:
		return "✗"
	case m.Role == "leader":
		return "★"
	case m.Role == "candidate":
		return "◇"
	case m.Learner:
		return "○"
	}
	return "●"
}

var members = regexp.MustCompile(`([★◇●○✗]) ([a-e])  (down|LEADS|CANDIDATE|learns|follows(?: [a-e])?) .*?t(?:erm )?(\d+) `)

// ringTells holds the boxes of the raft picture against the state; a narrow one has only the sign and the name.
func ringTells(t *rapid.T, at, shown string, s *view.State) {
	told := map[string][]string{}
	for _, m := range members.FindAllStringSubmatch(shown, -1) {
		told[m[2]] = m
	}
	for _, m := range s.Store.Members() {
		role := "follows"
		switch {
		case !m.Up:
			role = "down"
		case m.Role == "leader":
			role = "LEADS"
		case m.Role == "candidate":
			role = "CANDIDATE"
		case m.Learner:
			role = "learns"
		case m.Leader != "":
			role += " " + m.Leader
		}
		got := told[m.Name]
		if got == nil && strings.Contains(shown, "─ "+sign(m)+" "+m.Name+" ") || strings.Contains(shown, "━ "+sign(m)+" "+m.Name+" ") {
			continue
		}
		if got == nil {
			t.Fatalf("%s: nothing is told of %s:\n%s", at, m.Name, shown)
		}
		if got[1] != sign(m) || got[3] != role || got[4] != fmt.Sprint(m.Term) {
			t.Fatalf("%s: %q of %s, which is %s %s in term %d:\n%s", at, got[0], m.Name, sign(m), role, m.Term, shown)
		}
	}
}

// mapTells holds the members on the map against the state.
func mapTells(t *rapid.T, at, shown string, s *view.State, w int) {
	for _, m := range s.Store.Members() {
		name, last := regexp.QuoteMeta(sign(m)+" ")+"?"+m.Name, fmt.Sprint(m.Last)
		if w >= 112 { // a box: the name, then the sign
			name, last = m.Name+" "+regexp.QuoteMeta(sign(m)), ""
		}
		places := regexp.MustCompile(name+`( [0-9t▓░]*)?`).FindAllStringSubmatch(shown, -1)
		if places == nil {
			t.Fatalf("%s: %s is not told as %s:\n%s", at, m.Name, sign(m), shown)
		}
		if last == "" {
			continue
		}
		ok := false
		for _, p := range places {
			is := strings.TrimSpace(p[1])
			ok = ok || is == last || is == "" || is == fmt.Sprintf("t%d", m.Term) || strings.Trim(is, "▓░") == ""
		}
		if !ok {
			t.Fatalf("%s: %s has index %s, and not %q:\n%s", at, m.Name, last, places, shown)
		}
	}
}
