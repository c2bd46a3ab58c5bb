package lessons

import (
	"regexp"
	"strings"
)

var noteForm = regexp.MustCompile(`(?s)<!-- note: (.*?) -->`)

// prose joins the lines of each paragraph, and takes the speaker notes out.
func prose(lines []string) (text, notes string) {
	all := strings.Join(lines, "\n")
	var said []string
	for _, m := range noteForm.FindAllStringSubmatch(all, -1) {
		said = append(said, strings.Join(strings.Fields(m[1]), " "))
	}
	all = timeForm.ReplaceAllString(noteForm.ReplaceAllString(all, ""), "")
	var paragraphs []string
	for _, par := range strings.Split(all, "\n\n") {
		if par = strings.Join(strings.Fields(par), " "); par != "" {
			paragraphs = append(paragraphs, par)
		}
	}
	return strings.Join(paragraphs, "\n\n"), strings.Join(said, "\n")
}
