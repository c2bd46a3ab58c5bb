package view

import (
	"slices"
	"strings"

	"kviz/cluster/trace"
)

// ServerState is what belongs to one API server and is not in the store: what its
// own machine's files say, its audit log, and its seats for requests.
type ServerState struct {
	Encryption Encryption
	Audit      Audit
	Fairness   Fairness
	Configs    []ServerConfig // by file
}

// OtherServer is an API server beside the first.
type OtherServer struct {
	Server string // its process: "apiserver/b"
	ServerState
}

// APIServers are the API servers that anything is known of by themselves: the first,
// which State has too, then the others by name.
func (s *State) APIServers() []OtherServer {
	return append([]OtherServer{{trace.CompAPIServer, s.ServerState}}, s.Others...)
}

// server is the builder's own copy of what belongs to a server; "" is the first.
func (b *Builder) server(name string) *ServerState {
	if name == "" || name == trace.CompAPIServer {
		return &b.s.ServerState
	}
	b.s.Others = slices.Clone(b.s.Others)
	i, there := slices.BinarySearchFunc(b.s.Others, name, func(o OtherServer, name string) int { return strings.Compare(o.Server, name) })
	if !there {
		b.s.Others = slices.Insert(b.s.Others, i, OtherServer{Server: name})
	}
	return &b.s.Others[i].ServerState
}

// possessive is whose something is, in words: "the API server's", "apiserver/b's".
func possessive(server string) string {
	if server == "" {
		return "the API server's"
	}
	return server + "'s"
}

// otherServer is the server in whose lane something happened; "" for the first.
func otherServer(e *trace.Event) string {
	if e.Lane.Component != trace.CompAPIServer || e.Lane.Instance == "" {
		return ""
	}
	return e.Lane.String()
}

// called is a server in words: "the API server", "apiserver/b".
func called(server string) string {
	return orElse(server, "the API server")
}
