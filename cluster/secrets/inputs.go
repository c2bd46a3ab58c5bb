package secrets

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"

	"kviz/cluster/apiserver/request"
	"kviz/cluster/remote"
	"kviz/cluster/trace"
)

// input is what entered the run, by what it is (serve/input.go, console/again.go, faults.go).
func (p *pass) input(in *trace.Input) any {
	do := map[string]func(map[string]any){
		"command": p.command, "command.done": p.done, "tool": p.tool, "tool.task": p.tool, "fault": p.texts, "fault.begins": p.texts,
		"request": p.requested, "request.path": p.requested, "request.audit": p.requested, "request.probe": p.requested,
		"session": p.talk, "session.in": p.talk, "session.end": p.talk, "port": p.talk, "fetch": p.fetch,
	}[in.What]
	if do == nil || len(in.Data) == 0 {
		return nil
	}
	var fields map[string]any
	if in.Decode(&fields) != nil {
		return nil
	}
	do(fields)
	c := *in
	c.Encode(fields)
	return &c
}

func (p *pass) command(fields map[string]any) {
	before, after := list(fields["Words"]), p.words(list(fields["Words"]))
	fields["Words"] = after
	if told, ok := fields["Line"].(string); ok {
		if changed := line(after); changed != line(before) {
			if !p.back {
				p.lines[told], p.typed[changed] = changed, told
			}
			fields["Line"] = changed
		}
	}
	p.texts(fields)
}

func (p *pass) done(fields map[string]any) {
	told, ok := fields["Told"].(map[any]any)
	if !ok {
		return
	}
	if s, ok := told["Line"].(string); ok {
		told["Line"] = p.told(s)
	}
	if s, ok := told["Output"].(string); ok {
		told["Output"] = p.cut(s)
	}
}

// told is a command's line without its secrets.
func (p *pass) told(line string) string {
	if p.back {
		return cmp.Or(p.typed[line], p.text(line))
	}
	return cmp.Or(p.lines[line], p.text(line))
}

func (p *pass) tool(fields map[string]any) { p.texts(fields) }

// texts looks for known secrets in all texts.
func (p *pass) texts(fields map[string]any) {
	for k, v := range fields {
		fields[k] = p.texted(v)
	}
}

func (p *pass) texted(v any) any {
	switch v := v.(type) {
	case string:
		return p.text(v)
	case []byte:
		return []byte(p.text(string(v)))
	case []string:
		for i := range v {
			v[i] = p.text(v[i])
		}
	case []any:
		for i := range v {
			v[i] = p.texted(v[i])
		}
	case map[any]any:
		for k := range v {
			v[k] = p.texted(v[k])
		}
	}
	return v
}

// talk is what goes to a container.
func (p *pass) talk(fields map[string]any) {
	for _, name := range []string{"Text", "Options"} {
		if b, ok := fields[name].([]byte); ok {
			fields[name] = []byte(p.text(string(b)))
		}
	}
}

func (p *pass) fetch(fields map[string]any) {
	if b, ok := fields["Request"].([]byte); ok {
		req := &remote.Request{}
		if json.Unmarshal(b, req) == nil {
			p.proxied(req)
			fields["Request"], _ = json.Marshal(req) // it has been one
		}
	}
}

func (p *pass) proxied(req *remote.Request) {
	for _, name := range slices.Sorted(maps.Keys(req.Header)) {
		values := req.Header[name]
		switch http.CanonicalHeaderKey(name) {
		case "Authorization", "Proxy-Authorization", "Cookie":
			for i, v := range values {
				values[i] = p.value(v)
			}
		}
	}
	req.Body = []byte(p.text(string(req.Body)))
}

// requested is a request for the API server.
func (p *pass) requested(fields map[string]any) {
	p.talk(fields)
	b, ok := fields["Request"].([]byte)
	req := &request.Request{}
	if !ok || json.Unmarshal(b, req) != nil {
		return
	}
	if req.Token != "" {
		req.Token = p.token(req.Token)
	}
	req.Path = p.text(req.Path)
	if req.Proxied != nil {
		p.proxied(req.Proxied)
	}
	switch {
	case req.Resource.Group == "" && req.Resource.Resource == resource:
		req.Body, req.ContentType = p.body(req.Body, req.ContentType)
		if len(req.Patch) > 0 {
			req.Patch = p.patch(req.Patch, req.PatchType)
		}
	case req.Resource.Group == authenticationv1.GroupName && req.Resource.Resource == "tokenreviews" && len(req.Body) > 0:
		req.Body = p.tokenReview(req.Body, req.ContentType)
	}
	fields["Request"], _ = json.Marshal(req) // it has been one
}

// list is a list of texts.
func list(v any) []string {
	all, _ := v.([]any)
	out := make([]string, 0, len(all))
	for _, w := range all {
		s, _ := w.(string)
		out = append(out, s)
	}
	return out
}
