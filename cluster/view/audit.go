package view

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
)

// Audit is the API server's audit policy and log.
type Audit struct {
	Written *trace.Audit // what the policy's file says; nil where there is none
	Loaded  *trace.Audit // what is in force; nil where nothing is
	Failed  string       // why the newest event could not be written; "" where it was
	Event   trace.ID     // that changed it last
}

func init() {
	on(trace.AuditChanged, func(b *Builder, e *trace.Event, p *trace.Audit) {
		a := &b.server(p.Server).Audit
		a.Event = e.ID
		switch p.What {
		case "written":
			a.Written = p
		case "removed":
			a.Written = nil
		case "loaded":
			a.Loaded = p
			if len(p.Rules) == 0 {
				a.Loaded = nil
			}
		case "failed":
			a.Failed = p.Error
		case "recovered":
			a.Failed = ""
		}
	})
	say(trace.AuditChanged, func(_ *trace.Event, p *trace.Audit) string {
		switch p.What {
		case "written":
			return possessive(p.Server) + " audit policy was written: " + strings.Join(p.Rules, " | ")
		case "removed":
			return possessive(p.Server) + " audit policy was removed"
		case "loaded":
			if len(p.Rules) == 0 {
				return called(p.Server) + " has no audit policy any more: nothing is written"
			}
			return called(p.Server) + " audits by its policy: " + strings.Join(p.Rules, " | ")
		case "rotated":
			return auditLog(p) + " is full and starts empty; what it held is in " + p.File
		case "recovered":
			return auditLog(p) + " is written again; " + count(int(p.Errors), "event") + " could not be"
		}
		return fmt.Sprintf("%s cannot be written: %s; requests go on", auditLog(p), p.Error)
	})
}

func auditLog(p *trace.Audit) string {
	if p.Server == "" {
		return "the audit log"
	}
	return "the audit log of " + p.Server
}
