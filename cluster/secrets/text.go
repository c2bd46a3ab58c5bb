package secrets

import "strings"

// text is a text in which known secrets are replaced.
func (p *pass) text(s string) string {
	all := p.Hider.hide
	if p.back {
		all = p.Hider.back
	}
	if len(s) < shortestForm-2 {
		return s
	}
	for _, f := range all {
		if len(f.from) >= p.least && len(f.from) <= len(s) && strings.Contains(s, f.from) {
			s = strings.ReplaceAll(s, f.from, f.to)
		}
	}
	return s
}

// cut is text for one that may break off in the midst of a secret.
func (p *pass) cut(s string) string {
	s = p.text(s)
	all := p.Hider.hide
	if p.back {
		all = p.Hider.back
	}
	for _, f := range all {
		for n := min(len(f.from)-1, len(s)); n >= shortestForm; n-- {
			if strings.HasSuffix(s, f.from[:n]) {
				return s[:len(s)-n] + f.to[:n]
			}
		}
	}
	return s
}
