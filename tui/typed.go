package tui

import (
	"strings"

	"kviz/cluster/trace"
	"kviz/tui/action"
)

// typed is what a line of the console asks of the explorer itself, which keeps the runs: the
// cluster knows nothing of others, and what is asked about it leaves no trace in it.
func (m *Explorer) typed(line string) (does action.Action, ok bool) {
	words := strings.Fields(line)
	if len(words) < 2 || words[0] != "kviz" {
		return nil, false
	}
	args := words[2:]
	switch words[1] {
	case "fork":
		return m.typedFork(args), true
	case "compare":
		if len(args) == 0 {
			return m.compareAny(), true
		}
		return action.Beside{Name: strings.Join(args, " ")}, true
	case "odds":
		_, expr, _ := strings.Cut(line, "odds")
		if expr = strings.TrimSpace(expr); expr == "" {
			return m.askStretch(), true
		}
		return m.typedOdds(expr), true
	}
	return nil, false
}

// typedOdds is kviz odds [--at M..N] EXPR.
func (m *Explorer) typedOdds(line string) action.Action {
	from, to := m.stretch()
	if rest, ok := strings.CutPrefix(line, "--at "); ok {
		stretch, expr, _ := strings.Cut(strings.TrimSpace(rest), " ")
		var err error
		if from, to, err = m.parseStretch(stretch); err != nil {
			return action.Notice{Text: "kviz odds --at " + err.Error()}
		}
		line = strings.TrimSpace(expr)
	}
	return action.Odds{Expr: strings.Trim(line, "'"), From: from, To: to}
}

// typedFork is kviz fork: --list, --show NAME, --save FILE, or [--at N] [NAME].
func (m *Explorer) typedFork(args []string) action.Action {
	at := m.at()
	if len(args) > 0 {
		switch args[0] {
		case "--list":
			return m.listBranches()
		case "--show":
			return action.TurnTo{Name: strings.Join(args[1:], " ")}
		case "--save":
			return m.saveRun(m.name, strings.Join(args[1:], " "))
		case "--at":
			if len(args) < 2 {
				return action.Notice{Text: "kviz fork: --at wants the number of an event"}
			}
			id, err := trace.ParseID(args[1])
			if err != nil {
				return action.Notice{Text: "kviz fork: " + err.Error()}
			}
			at, args = trace.ID{Seq: id.Seq}, args[2:]
		}
	}
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		return action.Notice{Text: "kviz fork here: --list, --show NAME, --save FILE, or [--at N] [NAME]"}
	}
	if len(args) == 0 {
		return m.askFork(at, "")
	}
	return m.fork(at, strings.Join(args, " "))
}
