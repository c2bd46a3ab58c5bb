package view

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
)

// Webhook is a simulated webhook server, as it was asked so far.
type Webhook struct {
	gen
	Name     string
	Asked    int
	Refused  int                // objects, tokens or accesses that it did not allow
	Unserved int                // reviews that it answered with an error of HTTP
	Last     *trace.WebhookCall // its newest answer
	Event    trace.ID           // of that
}

func (w *Webhook) seal() {}

// Webhooks lists the webhook servers that were asked, by name.
func (s *State) Webhooks() []*Webhook { return s.webhooks.values() }

func init() {
	on(trace.WebhookCalled, func(b *Builder, e *trace.Event, p *trace.WebhookCall) {
		w := edit(b, b.s.webhooks, p.Webhook)
		w.Name, w.Last, w.Event = p.Webhook, p, e.ID
		w.Asked++
		switch {
		case p.Code >= 300 || p.Error != "":
			w.Unserved++
		case !p.Allowed:
			w.Refused++
		}
	})
	say(trace.WebhookCalled, func(_ *trace.Event, p *trace.WebhookCall) string {
		asked := fmt.Sprintf("the webhook server %s was asked about the %s of %s", p.Webhook, orElse(p.Operation, "operation"), orElse(p.Object, "an object"))
		if p.Review != "" {
			asked = fmt.Sprintf("the webhook server %s was asked about %s (%s)", p.Webhook, orElse(p.Object, "something"), p.Review)
		}
		switch {
		case p.Desired != "":
			return conversionWords(p)
		case p.Error != "":
			return fmt.Sprintf("%s and could not review it: %s", asked, p.Error)
		case p.Lie != "":
			return fmt.Sprintf("%s and lies (%s)", asked, p.Lie)
		case p.Review != "":
			return asked + " and answers: " + p.Message
		case !p.Allowed:
			return asked + " and does not allow it" + tail(": ", p.Message)
		case p.Patch != "":
			return asked + " and allows it with the patch " + p.Patch
		}
		return asked + " and allows it" + tail("; it warns: ", strings.Join(p.Warnings, "; "))
	})
}

func conversionWords(p *trace.WebhookCall) string {
	asked := fmt.Sprintf("the webhook server %s was asked to convert %s to %s", p.Webhook, orElse(p.Object, "an object"), p.Desired)
	switch {
	case p.Lie != "":
		return fmt.Sprintf("%s and lies (%s)", asked, p.Lie)
	case !p.Allowed:
		return asked + " and could not" + tail(": ", p.Message)
	}
	return asked + " and did"
}
