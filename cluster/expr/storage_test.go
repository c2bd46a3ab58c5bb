package expr_test

import (
	"strings"
	"testing"

	"kviz/cluster/expr"
	"kviz/cluster/view"
	"kviz/tui/tuitest"
)

// Expressions reach claims, volumes and disks, budgets, and the sums of autoscalers with the loads behind them.
func TestStorageBudgetsAutoscalers(t *testing.T) {
	disks, deleted, guarded, scaled := tuitest.Disks().History().Latest(), tuitest.DisksDeleted().History().Latest(), tuitest.Guarded().History().Latest(), tuitest.Autoscaling().History().Latest()
	for _, c := range []struct {
		s    *view.State
		src  string
		want bool
	}{
		{disks, `claim("demo", "data").state == "attached" && claim("demo", "data").nodes == ["node-1"]`, true},
		{disks, `claim("demo", "data").pods == ["demo/db-0"] && claim("demo", "data").size == "5Gi"`, true},
		{disks, `claim("demo", "more").state == "failed" && claim("demo", "more").volume == ""`, true},
		{disks, `claim("demo", "more").why.contains("has to make one")`, true},
		{disks, `claim("demo", "none") == null && volume("none") == null && budget("demo", "none") == null && hpa("demo", "none") == null`, true},
		{disks, `volume("small").state == "available" && volume("old").state == "released" && volume("old").claim == ""`, true},
		{disks, `volume(claim("demo", "data").volume).claim == "demo/data"`, true},
		{disks, `claims.size() == 2 && claims.all(c, c.state == "attached")`, false},
		{disks, `volumes.size() == 3 && volumes.exists(v, v.state == "released")`, true},
		{disks, `disks[0].calls.exists(c, c.call == "ControllerPublishVolume" && c.error != "")`, true},
		{deleted, `disks.exists(d, d.id == "disk-old")`, false},
		{guarded, `budget("demo", "shop").allowed == budgets[0].allowed && budgets[0].desired > 0`, true},
		{guarded, `budgets.all(b, b.healthy <= b.expected)`, true},
		{scaled, `autoscalers["demo/shop"].sums.size() > 0 && autoscalers["demo/shop"].last.desired == hpa("demo", "shop").desired`, true},
		{scaled, `hpa("demo", "shop").metrics.exists(m, m.name == "cpu") && hpa("demo", "shop").line != ""`, true},
		{scaled, `hpa("demo", "shop").max == 5 && hpa("demo", "shop").min == 2`, true},
		{scaled, `loads.exists(l, l.target == "deployment/shop" && l.what == "cpu" && l.value > 0.0)`, true},
	} {
		p, err := expr.Compile(c.src)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		if got, err := p.Eval(c.s, nil); err != nil || got != c.want {
			t.Errorf("%s is %t (%v), want %t", c.src, got, err, c.want)
		}
	}
	for src, want := range map[string]string{
		`claim("d`:               `claim("demo"`,
		`claim("demo", "d`:       `claim("demo", "data"`,
		`volume("sm`:             `volume("small"`,
		`claim("demo", "x").sta`: `claim("demo", "x").state`,
	} {
		head, words := expr.Complete(src, disks)
		if len(words) != 1 || head+words[0] != want {
			t.Errorf("%s is completed by %s%q, want %s", src, head, words, want)
		}
	}
	for src, want := range map[string]string{
		`hpa("demo", "shop").desird`:     `did you mean "desired"?`,
		`claim("demo", "data").stat`:     `did you mean "state"?`,
		`budgets[0].alowed`:              `did you mean "allowed"?`,
		`autoscalers["demo/shop"].lasst`: `did you mean "last"?`,
	} {
		if _, err := expr.Compile(src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is refused by %v, want %s", src, err, want)
		}
	}
}
