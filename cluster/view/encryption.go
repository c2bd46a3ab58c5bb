package view

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
)

// Encryption is encryption at rest, as the API server has it.
type Encryption struct {
	Written *trace.Encryption // what the file says; nil where there is none
	Loaded  *trace.Encryption // what is in force; nil where nothing is
	Refused string            // why what was written last is not taken up
	Event   trace.ID          // that changed it last
	Call    *trace.KMSCall    // the newest of the KMS plugin
	Calls   uint64
}

func init() {
	on(trace.EncryptionConfig, func(b *Builder, e *trace.Event, p *trace.Encryption) {
		n := &b.server(p.Server).Encryption
		n.Event, n.Refused = e.ID, p.Error
		switch p.What {
		case "written":
			n.Written = p
		case "removed":
			n.Written = nil
		case "loaded":
			n.Loaded = p
			if len(p.Rules) == 0 {
				n.Loaded = nil
			}
		}
	})
	on(trace.CacheDecrypted, func(b *Builder, e *trace.Event, p *trace.Decryption) {
		name := orElse(p.Custom, p.Resource)
		w := edit(b, b.s.watchCaches, cacheKey(e, name))
		w.Server = e.Lane.String()
		w.Resource, w.Locked = name, p.Error
	})
	on(trace.KMSCalled, func(b *Builder, _ *trace.Event, p *trace.KMSCall) {
		b.s.Encryption.Call = p
		b.s.Encryption.Calls++
	})

	say(trace.EncryptionConfig, func(_ *trace.Event, p *trace.Encryption) string {
		switch p.What {
		case "written":
			return possessive(p.Server) + " encryption configuration was written: " + trace.RulesText(p.Rules)
		case "removed":
			return possessive(p.Server) + " encryption configuration was removed"
		case "loaded":
			return called(p.Server) + " encrypts and decrypts by its configuration: " + trace.RulesText(p.Rules)
		}
		return called(p.Server) + " does not take up its encryption configuration" + tail(": ", p.Error)
	})
	say(trace.CacheDecrypted, func(_ *trace.Event, p *trace.Decryption) string {
		name := orElse(p.Custom, p.Resource)
		if p.Conversion && p.Error != "" {
			return fmt.Sprintf("the watch cache of %s cannot have %s converted: %s", name, p.Key, p.Error)
		}
		if p.Conversion {
			return fmt.Sprintf("the watch cache of %s can be filled again: its objects can be converted", name)
		}
		if p.Error != "" {
			return fmt.Sprintf("the watch cache of %s cannot decrypt %s%s: %s", name, p.Key, tail(", which is of ", strings.Join(p.By, ", ")), p.Error)
		}
		if p.Key != "" {
			return fmt.Sprintf("the watch cache of %s reads %s%s", name, p.Key, tail(", which is of ", strings.Join(p.By, ", ")))
		}
		if p.Values == 0 {
			return fmt.Sprintf("the watch cache of %s can be filled again: what it could not decrypt is gone", name)
		}
		return fmt.Sprintf("the watch cache of %s reads %s%s", name, count(p.Values, "value"), tail(" of ", strings.Join(p.By, ", ")))
	})
	say(trace.KMSCalled, func(_ *trace.Event, p *trace.KMSCall) string {
		what := map[string]string{"Status": "says that it is well and uses", "Encrypt": "encrypts a data key with", "Decrypt": "decrypts a data key with"}[p.Method]
		if p.Error != "" {
			return fmt.Sprintf("the KMS plugin refuses %s: %s", p.Method, p.Error)
		}
		return fmt.Sprintf("the KMS plugin %s %s", orElse(what, "answers with"), orElse(p.KeyID, "its key"))
	})
}
