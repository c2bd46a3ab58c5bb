package view

import (
	"slices"
	"strings"

	"kviz/cluster/trace"
)

// ServerConfig is a file that the API server is configured with.
type ServerConfig struct {
	File    string
	For     string              // what it configures: "admission"
	Written *trace.ServerConfig // what the file says; nil where there is none
	Loaded  *trace.ServerConfig // what is in force; nil where nothing is
	Event   trace.ID            // that changed it last
}

// Stale reports whether the server has not read the file as it is now.
func (c *ServerConfig) Stale() bool {
	hash := func(p *trace.ServerConfig) string {
		if p == nil {
			return ""
		}
		return p.Hash
	}
	return hash(c.Written) != hash(c.Loaded)
}

func init() {
	on(trace.ServerConfigured, func(b *Builder, e *trace.Event, p *trace.ServerConfig) {
		server := b.server(p.Server)
		list := slices.Clone(server.Configs)
		i, found := slices.BinarySearchFunc(list, p.File, func(c ServerConfig, file string) int { return strings.Compare(c.File, file) })
		if !found {
			list = slices.Insert(list, i, ServerConfig{File: p.File, For: p.For})
		}
		c := &list[i]
		c.Event = e.ID
		there := p
		if p.Hash == "" {
			there = nil
		}
		switch p.What {
		case "refused":
		case "loaded":
			c.Loaded = there
		default:
			c.Written = there
		}
		server.Configs = list
	})
	say(trace.ServerConfigured, func(_ *trace.Event, p *trace.ServerConfig) string {
		about := possessive(p.Server) + " " + p.For + " configuration"
		switch {
		case p.What == "written":
			return about + " was written: " + strings.Join(p.Says, " | ")
		case p.What == "removed":
			return about + " was removed"
		case p.What == "refused":
			return called(p.Server) + " does not take up its " + p.For + " configuration: " + p.Error
		case p.Hash == "":
			return called(p.Server) + " has no " + p.For + " configuration any more"
		}
		return called(p.Server) + " takes up its " + p.For + " configuration: " + strings.Join(p.Says, " | ")
	})
}
