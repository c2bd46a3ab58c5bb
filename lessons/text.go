package lessons

import (
	"regexp"
	"strings"
)

var noteForm = regexp.MustCompile(`(?s)<!-- note: (.*?) -->`)

// prose joins the lines of a paragraph, and takes the speaker notes out.
func prose(lines []string) (text, notes string) {
	all := strings.Join(lines, "\n")
	var said []string
	for _, m := range noteForm.FindAllStringSubmatch(all, -1) {
		said = append(said, strings.Join(strings.Fields(m[1]), " "))
	}
	all = noteForm.ReplaceAllString(all, "")
	var paragraphs []string
	for _, par := range strings.Split(all, "\n\n") {
		if par = flow(par); par != "" {
			paragraphs = append(paragraphs, par)
		}
	}
	return strings.Join(paragraphs, "\n\n"), strings.Join(said, "\n")
}

// flow puts a paragraph on one line, but keeps list items and code on theirs.
func flow(par string) string {
	var out []string
	code := false
	for _, line := range strings.Split(strings.Trim(par, "\n"), "\n") {
		fence := strings.HasPrefix(line, "```")
		trimmed := strings.TrimSpace(line)
		switch {
		case fence:
			code = !code
		case trimmed == "":
		case code || strings.HasPrefix(line, "    "):
			out = append(out, "    "+trimmed)
		case len(out) == 0 || strings.HasPrefix(trimmed, "- ") || strings.HasPrefix(out[len(out)-1], "    "):
			out = append(out, trimmed)
		default:
			out[len(out)-1] += " " + trimmed
		}
	}
	return strings.Join(out, "\n")
}
