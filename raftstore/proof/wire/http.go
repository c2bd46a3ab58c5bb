package wire

import (
	"io"
	"net/http"
	"slices"
	"strings"
)

// told are the headers that are compared.
var told = []string{"Content-Type", "Allow", "X-Content-Type-Options", "Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers"}

// page asks over plain HTTP.
func (s *side) page(method, path, body string, header ...string) {
	call := strings.TrimSpace(method + " " + path + " " + body)
	req, err := http.NewRequestWithContext(s.ctx, method, "http://"+s.endpoints[s.at]+path, strings.NewReader(body))
	if err != nil {
		s.say(call, err.Error())
		return
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if s.token != "" {
		req.Header.Set("Authorization", s.token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.say(call, s.local(err.Error()))
		return
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.say(call, err.Error())
		return
	}
	lines := []string{resp.Status}
	for _, h := range told {
		if v := resp.Header.Values(h); len(v) > 0 {
			lines = append(lines, h+": "+strings.Join(v, ", "))
		}
	}
	s.say(call, strings.Join(lines, " | ")+" | "+s.local(compact(inOrder(string(text)))))
}

// inOrder sorts the lines of the checks at /readyz: etcd has them in any order.
func inOrder(text string) string {
	if !strings.HasPrefix(text, "[") {
		return text
	}
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// compact takes out the spaces that protojson puts in at random.
func compact(text string) string {
	if !strings.HasPrefix(text, "{") {
		return text
	}
	return strings.NewReplacer(`", "`, `","`, `": `, `":`, `}, {`, `},{`, `], "`, `],"`, `}, "`, `},"`).Replace(text)
}

// pages is everything that is there over plain HTTP.
func pages(s *side) {
	for _, path := range []string{
		"/version", "/health", "/health?serializable=true", "/livez", "/livez?verbose", "/readyz", "/readyz?verbose", "/readyz?verbose&exclude=non_learner",
		"/readyz?exclude=serializable_read&exclude=linearizable_read&exclude=data_corruption&exclude=non_learner&verbose", "/readyz/linearizable_read?verbose",
		"/livez/serializable_read", "/livez/linearizable_read", "/readyz/nothing", "/", "/nothing", "/v2/keys", "/v3", "/v3/", "/v3/nothing", "/v3/kv/range",
		"/debug/pprof/", "/config/local/log", "/debug/requests", "/v3beta/kv/range", "/health/", "/version/",
	} {
		s.page(http.MethodGet, path, "")
	}
	s.page(http.MethodHead, "/health", "")
	for _, path := range []string{"/version", "/health", "/livez", "/readyz", "/nothing"} {
		s.page(http.MethodPost, path, "")
	}
	s.page(http.MethodOptions, "/v3/kv/range", "", "Origin", "http://example.com")
	s.page(http.MethodPut, "/v3/kv/range", "{}")
	for _, c := range [][2]string{
		{"/v3/kv/put", `{"key":"YQ==","value":"MQ=="}`},
		{"/v3beta/kv/put", `{"key":"YQ==","value":"MQ==","prev_kv":true}`},
		{"/v3/kv/range", `{"key":"YQ=="}`},
		{"/v3/kv/range", `{"key":"YQ==","nothing":1}`},
		{"/v3/kv/range", `{"key":"YQ==","limit":"x"}`},
		{"/v3/kv/range", `{"key":"YQ=="`},
		{"/v3/kv/range", `{"key":"not base64!"}`},
		{"/v3/kv/range", `{}`},
		{"/v3/kv/range", ``},
		{"/v3/kv/range", `{"key":"YQ==","sort_order":"DESCEND","sort_target":"MOD"}`},
		{"/v3/kv/range", `{"key":"YQ==","sort_order":"NOTHING"}`},
		{"/v3/kv/range", `{"key":"YQ==","revision":"1000"}`},
		{"/v3/kv/range/stream", `{"key":"YQ=="}`},
		{"/v3/kv/rangestream", `{"key":"YQ=="}`},
		{"/v3/kv/txn", `{"compare":[{"key":"YQ==","result":"EQUAL","target":"VALUE","value":"MQ=="}],"success":[{"request_range":{"key":"YQ=="}}]}`},
		{"/v3/kv/txn", `{"success":[{"requestPut":{"key":"YQ==","value":"Mg=="}}]}`},
		{"/v3/kv/deleterange", `{"key":"YQ=="}`},
		{"/v3/kv/compaction", `{"revision":"100"}`},
		{"/v3/lease/grant", `{"ID":"55","TTL":"600"}`},
		{"/v3/lease/grant", `{"ID":"55","TTL":"600"}`},
		{"/v3/lease/keepalive", `{"ID":"55"}`},
		{"/v3/lease/leases", `{}`},
		{"/v3/kv/lease/leases", `{}`},
		{"/v3/lease/revoke", `{"ID":"55"}`},
		{"/v3/kv/lease/revoke", `{"ID":"55"}`},
		{"/v3/kv/lease/timetolive", `{"ID":"55"}`},
		{"/v3/maintenance/alarm", `{}`},
		{"/v3/maintenance/downgrade", `{"action":"VALIDATE","version":"3.5"}`},
		{"/v3/maintenance/transfer-leadership", `{"targetID":"1"}`},
		{"/v3/maintenance/hashkv", `{}`},
		{"/v3/auth/status", `{}`},
		{"/v3/auth/authenticate", `{"name":"a","password":"b"}`},
		{"/v3/auth/user/add", `{"name":"u","password":"p"}`},
		{"/v3/auth/user/list", `{}`},
		{"/v3/auth/role/get", `{"role":"x"}`},
		{"/v3/cluster/member/remove", `{"ID":"5"}`},
		{"/v3/election/leader", `{"name":"eA=="}`},
		{"/v3/lock/lock", `{"name":"eA==","lease":"4711"}`},
	} {
		s.page(http.MethodPost, c[0], c[1])
	}
	s.page(http.MethodGet, "/version", "", "Host", "evil.example.com")
}
