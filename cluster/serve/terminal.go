package serve

import (
	"bufio"
	"context"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simplified,
	What: "kubectl exec -it POD -- sh runs each line in a shell of its own, which knows no variables of the lines before it",
})

// prompt is busybox's, of root in the root folder.
const prompt = "/ # "

// What a terminal in raw mode sends for these keys.
const (
	ctrlC     = 0x03
	ctrlD     = 0x04
	backspace = 0x08
	rubout    = 0x7f
)

// runTerminal is kubectl exec -it POD -- sh: a line at a time is read and run. A
// terminal in raw mode shows nothing by itself, so what is typed is sent back.
//
// Simplified: each line is run by a shell of its own, which knows no variables of the
// lines before it.
func (h *Handler) runTerminal(ctx context.Context, caller Caller, s *apiserver.Session, with Streams) *metav1.Status {
	out := io.Discard
	if with.Out != nil {
		out = with.Out
	}
	keys := bufio.NewReader(with.In)
	code := 0
	for {
		_, _ = io.WriteString(out, prompt)
		line, open := readLine(keys, out)
		if !open {
			return ended(code)
		}
		line = strings.TrimSpace(line)
		switch word, rest, _ := strings.Cut(line, " "); {
		case line == "":
			continue
		case word == "exit" && rest == "":
			return ended(code)
		}
		res, err := h.execute(ctx, caller, s, []string{s.Options.Command[0], "-c", line}, nil)
		if err != nil {
			return statusOf(apierrors.NewInternalError(err))
		}
		code = res.Code
		_, _ = io.WriteString(out, strings.ReplaceAll(res.Stdout+res.Stderr, "\n", "\r\n"))
	}
}

// readLine reads what is typed up to Enter, and shows it; false at the end.
func readLine(keys *bufio.Reader, out io.Writer) (string, bool) {
	var line []rune
	for {
		key, _, err := keys.ReadRune()
		switch {
		case err != nil || key == ctrlD && len(line) == 0:
			return "", false
		case key == '\r' || key == '\n':
			_, _ = io.WriteString(out, "\r\n")
			return string(line), true
		case key == ctrlC:
			_, _ = io.WriteString(out, "^C\r\n")
			return "", true
		case (key == rubout || key == backspace) && len(line) > 0:
			line = line[:len(line)-1]
			_, _ = io.WriteString(out, "\b \b")
		case key >= ' ' && key != rubout:
			line = append(line, key)
			_, _ = io.WriteString(out, string(key))
		}
	}
}
