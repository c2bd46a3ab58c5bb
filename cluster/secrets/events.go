package secrets

import (
	"bytes"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

const resource = "secrets"

// payload is the payload of an event of an object without secrets; nil where it is as it was.
func (p *pass) payload(of trace.Ref, payload any) any {
	switch one := payload.(type) {
	case *trace.Input:
		return p.input(one)
	case *trace.Request:
		return p.request(one)
	case *trace.Stage:
		c := *one
		kind, asked := p.asked[c.Request]
		c.Note = p.text(c.Note)
		if c.Diff = slices.Clone(c.Diff); asked {
			p.diff(c.Diff, kind)
		}
		return &c
	case *trace.Response:
		c := *one
		c.Object, c.Message = p.object(c.Object), p.text(c.Message)
		return &c
	case *trace.WatchEvent:
		if o := p.object(one.Object); o != one.Object || len(one.Unknown) > 0 {
			c := *one
			c.Object, c.Unknown = o, slices.Clone(c.Unknown)
			if of.Kind == "Secret" {
				p.diff(c.Unknown, "") // of what is held or lost the type is not known
			}
			return &c
		}
	case *trace.Commit:
		return p.commit(one)
	case *trace.Command:
		c := *one
		c.Line, c.Output = p.told(c.Line), p.cut(c.Output)
		return &c
	case *trace.Fault:
		c := *one
		c.Detail = p.text(c.Detail)
		return &c
	case *trace.Probe:
		c := *one
		c.Output = p.text(c.Output)
		return &c
	case *trace.KubeEvent:
		c := *one
		c.Message = p.text(c.Message)
		return &c
	case *trace.WebhookCall:
		c := *one
		c.Message, c.Patch, c.Error = p.text(c.Message), p.text(c.Patch), p.text(c.Error)
		return &c
	case *trace.Broken:
		c := *one
		c.Message, c.Stack = p.text(c.Message), p.text(c.Stack)
		return &c
	}
	return nil
}

func (p *pass) request(one *trace.Request) any {
	c := *one
	c.Body, c.Path = p.object(c.Body), p.text(c.Path)
	if c.Resource == resource {
		kind := ""
		if c.Body != nil {
			if s, ok := c.Body.Value.(*corev1.Secret); ok {
				kind = string(s.Type)
			}
		}
		if !p.back {
			p.asked[c.Request] = kind
		}
		if c.Patch != "" {
			c.Patch = string(p.patch([]byte(c.Patch), ""))
		}
	}
	return &c
}

// diff hides what changed in a Secret.
func (p *pass) diff(fields []trace.FieldDiff, kind string) {
	for i := range fields {
		f := &fields[i]
		first, rest, deeper := strings.Cut(f.Path, ".")
		var at []string
		switch {
		case first == "metadata" && strings.Contains(rest, corev1.LastAppliedConfigAnnotation):
			at = []string{"metadata", "annotations", corev1.LastAppliedConfigAnnotation}
		case deeper && first != "metadata":
			at = []string{first, rest}
		case f.Path != "":
			at = strings.Split(f.Path, ".")
		}
		for _, text := range []*string{&f.From, &f.To} {
			if *text != "" {
				*text = string(p.document([]byte(*text), at, kind, false))
			}
		}
	}
}

// stored is the folder of Secrets in the store.
const stored = "/registry/secrets/"

func (p *pass) commit(one *trace.Commit) any {
	var c *trace.Commit
	for i, change := range one.Changes {
		o, raw := p.object(change.Value), change.Raw
		if strings.HasPrefix(change.Key, stored) && len(raw) > 0 {
			raw = p.raw(raw)
		}
		if o == change.Value && bytes.Equal(raw, change.Raw) {
			continue
		}
		if c == nil {
			copied := *one
			copied.Changes = slices.Clone(one.Changes)
			c = &copied
		}
		c.Changes[i].Value, c.Changes[i].Raw = o, raw
	}
	if c == nil {
		return nil // as an interface
	}
	return c
}

// raw is what the store has of a Secret where that is no object: who encrypted it can be
// read still.
func (p *pass) raw(b []byte) []byte {
	begins := 0
	if trace.Encrypted(b) {
		for range 5 { // k8s:enc:aescbc:v1:key1:
			if i := bytes.IndexByte(b[begins:], ':'); i >= 0 {
				begins += i + 1
			}
		}
	}
	return append(b[:begins:begins], p.opaque(string(b[begins:]))...)
}
