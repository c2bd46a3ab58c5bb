package menu

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/odds"
	"kviz/tui/overlay"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// AskRange asks from which event to which.
func AskRange(from, to trace.ID) action.Prompt {
	text := fmt.Sprintf("%d..%d", max(from.Seq, 1), to.Seq)
	return action.Prompt{
		For: action.ForRange, Title: "From which event to which?", At: to, Text: text,
		Intro: "Two numbers, such as 2900..3400. m remembers an event; O then asks from there to where you stand.",
	}
}

// span is a stretch in words.
func span(from, to trace.ID) string {
	if from.IsZero() {
		return "up to #" + to.String()
	}
	return "from #" + from.String() + " to #" + to.String()
}

// AskOdds asks of what the odds are wanted, from an event to another.
func AskOdds(from, at trace.ID) action.Prompt {
	return action.Prompt{
		For: action.ForOdds, Title: "How probable did it become, " + span(from, at) + "?", At: at, From: from,
		Intro: "A CEL expression over the state: what came about. Branches leave the run at some events before, each with other chances and nobody at the keys, and it is counted in how many it comes true within a minute.",
	}
}

// WhatOdds lists what could be asked about the object that is looked at, about the Deployments,
// and about the cluster.
func WhatOdds(from, at trace.ID, ref trace.Ref, state *view.State) overlay.Overlay {
	p := &overlay.Picker{
		Title: "When did it become inevitable?", Wide: true,
		Intro: "How probable something became, " + span(from, at) + ": branches leave the run at some events before, and it is counted in how many it comes true within a minute.",
	}
	refs := []trace.Ref{ref}
	for _, o := range state.Objects("deployments", "") {
		if !strings.HasPrefix(o.Ref.Namespace, "kube-") && o.Ref != ref && len(refs) < 4 {
			refs = append(refs, o.Ref)
		}
	}
	for _, r := range refs {
		p.Items = append(p.Items, askable(from, at, r)...)
	}
	p.Items = append(p.Items,
		overlay.Item{Label: "the store has no leader", Detail: `store.leader == ""`, Do: action.Odds{Expr: `store.leader == ""`, From: from, To: at}},
		overlay.Item{Label: "that an expression holds …", Detail: "Any CEL expression over the state.", Do: AskOdds(from, at)},
		overlay.Item{Label: "another stretch than " + span(from, at) + " …", Detail: "From which event to which it is asked.", Stay: true, Do: AskRange(from, at)})
	return p
}

// askable is what could be asked about an object.
func askable(from, at trace.ID, ref trace.Ref) (items []overlay.Item) {
	if ref.Name == "" || ref.Namespace == "" {
		return nil
	}
	add := func(says, expr string) {
		items = append(items, overlay.Item{Label: ref.Kind + " " + ref.Key() + says, Detail: expr, Do: action.Odds{Expr: expr, From: from, To: at}})
	}
	kind := strings.ToLower(ref.Kind) + "s"
	it := fmt.Sprintf("object(%q, %q, %q)", kind, ref.Namespace, ref.Name)
	switch ref.Kind {
	case "Deployment":
		add(" has all its replicas available", fmt.Sprintf("%s.status.availableReplicas == %s.spec.replicas", it, it))
		add(" cannot create its pods", it+`.status.conditions.exists(c, c.type == "ReplicaFailure" && c.status == "True")`)
		add(" gives its rollout up", it+`.status.conditions.exists(c, c.type == "Progressing" && c.status == "False")`)
	case "Pod":
		add(" runs", it+`.status.phase == "Running"`)
		add(" is gone", fmt.Sprintf("!objects(%q, %q).exists(o, o.metadata.name == %q)", kind, ref.Namespace, ref.Name))
	}
	return items
}

// Odds lists the events of a curve, each with how probable it was there.
func Odds(c *odds.Curve, from, at trace.ID) overlay.Overlay {
	p := &overlay.Picker{
		Title: "How probable: " + c.Expr, Wide: true,
		Intro: fmt.Sprintf("In %d branches at each event, within %s: %s.", c.Seeds, words.Dur(c.Within), c.Says()),
	}
	const cells = 20
	sure, here := c.Inevitable(), 0
	for i, one := range c.Chances {
		full := int(one.Share()*cells + 0.5)
		it := overlay.Item{
			Label: fmt.Sprintf("%7s %.2f %s%s", "#"+one.Event.ID.String(), one.Share(), strings.Repeat("█", full), strings.Repeat("·", cells-full)),
			Note:  view.Explain(one.Event), Detail: "Go there: " + view.Explain(one.Event), Do: action.Goto{ID: one.Event.ID},
		}
		if one.Event == sure {
			it.Style, here = theme.Bad, i
		}
		p.Items = append(p.Items, it)
	}
	if from, to := c.Steepest(); from != nil && to.ID.Seq > from.ID.Seq+1 {
		p.Items = append(p.Items, overlay.Item{
			Label: fmt.Sprintf("closer: between #%s and #%s", from.ID, to.ID), Detail: "Ask the same at events between the two where it changed most.",
			Do: action.Odds{Expr: c.Expr, From: from.ID, To: to.ID},
		})
	}
	p.Items = append(p.Items,
		overlay.Item{Label: "ask something else …", Do: action.AskOdds{From: from, To: at}},
		overlay.Item{Label: "take the curve away", Do: action.NoOdds{}})
	p.Select(here)
	return p
}
