package main

import (
	"context"
	"fmt"
	goio "io"
	"strings"

	"github.com/spf13/pflag"
)

func manCommand() *command {
	return &command{
		name: "man", short: "the manual page", long: "All that kviz help says about the commands, as a page for man(1).",
		example: "kviz man | man -l -",
		run: func(_ context.Context, io streams, args []string) error {
			if len(args) > 0 {
				return &usageError{text: fmt.Sprintf("unexpected %q", args[0])}
			}
			manual(io.out, commands())
			return nil
		},
	}
}

// manual writes the page, in man(7)'s macros.
func manual(w goio.Writer, all []*command) {
	fmt.Fprintf(w, ".TH KVIZ 1 \"\" \"kviz %s\" \"User Commands\"\n", roff(version()))
	fmt.Fprint(w, ".SH NAME\nkviz \\- a debugger for Kubernetes\n.SH SYNOPSIS\n.B kviz\n[\\fIcommand\\fR] [\\fIflags\\fR]\n")
	fmt.Fprint(w, ".SH DESCRIPTION\nA whole cluster in one process, to watch, pause, step, break, and learn from. Without a command it opens the explorer.\n.SH COMMANDS\n")
	for _, c := range all {
		fmt.Fprintf(w, ".SS %s\n%s\n", roff(strings.TrimSpace("kviz "+c.name+" "+c.usage)), roff(sentence(c.short)))
		if c.long != "" {
			fmt.Fprintf(w, ".PP\n%s\n", roff(strings.TrimSpace(c.long)))
		}
		flagsOf(c).VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			value, usage := pflag.UnquoteUsage(f)
			fmt.Fprintf(w, ".TP\n\\fB%s\\fR %s\n%s\n", roff("--"+f.Name), roff(value), roff(usage))
		})
		if c.example != "" {
			fmt.Fprintf(w, ".PP\n.nf\n%s\n.fi\n", roff(strings.TrimSpace(c.example)))
		}
	}
}

// sentence gives words a capital letter and a full stop.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// roff writes text so that nothing in it is a request or an escape.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
