package kubectl

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strings"
	"time"

	"kviz/cluster/console/command"
)

// verbose tells of requests as kubectl does at -v=6 and above (client-go
// transport/round_trippers.go), in the cluster's time.
type verbose struct {
	base  http.RoundTripper
	level int
	out   io.Writer
	clock *command.Kernel
}

// RoundTrip sends a request and logs it. The body of a watch, which has no end, is not
// logged.
func (v *verbose) RoundTrip(r *http.Request) (*http.Response, error) {
	began := v.now()
	if v.level >= 7 {
		v.log(began, fmt.Sprintf("%q verb=%q url=%q headers=%s", "Request", r.Method, r.URL, block(headers(r.Header))))
	}
	if v.level >= 8 && r.Body != nil {
		b, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(b))
		if len(b) > 0 {
			v.body(began, "Request Body", b)
		}
	}
	resp, err := v.base.RoundTrip(r)
	watch := r.URL.Query().Get("watch") != ""
	now := began
	if !watch { // time does not stand still while one lasts
		now = v.now()
	}
	status := ""
	if err == nil {
		status = fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	line := fmt.Sprintf("%q verb=%q url=%q status=%q", "Response", r.Method, r.URL, status)
	if err == nil && v.level >= 8 {
		line += " headers=" + block(headers(resp.Header))
	}
	v.log(now, fmt.Sprintf("%s milliseconds=%d", line, now.Sub(began).Milliseconds()))
	if err != nil || v.level < 8 || watch {
		return resp, err
	}
	b, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(b))
	v.body(now, "Response Body", b)
	return resp, nil
}

func (v *verbose) now() (t time.Time) {
	_ = v.clock.Do(func() { t = v.clock.Now() })
	return t
}

// log is a line as klog writes it, without the process and the line of source.
func (v *verbose) log(at time.Time, text string) {
	fmt.Fprintf(v.out, "I%s round_trippers.go] %s\n", at.UTC().Format("0102 15:04:05.000000"), text)
}

// body tells as much of a body as kubectl does at the level.
func (v *verbose) body(at time.Time, what string, b []byte) {
	text := strings.TrimSuffix(string(b), "\n")
	if bytes.IndexByte(b, 0) >= 0 {
		text = fmt.Sprintf("%d bytes that are no text", len(b))
	}
	most := map[int]int{8: 1024, 9: 10240}[v.level]
	if cut := len(text) - most; most > 0 && cut > 0 {
		text = fmt.Sprintf("%s [truncated %d chars]", text[:most], cut)
	}
	v.log(at, fmt.Sprintf("%q body=%s", what, block(text)))
}

// block is a value of several lines as klog writes it.
func block(text string) string {
	return "<\n\t" + strings.ReplaceAll(text, "\n", "\n\t") + "\n >"
}

// headers are a request's, without what proves who sends it, and without the number
// that kubectl draws by lot for each command.
func headers(h http.Header) string {
	var lines []string
	for name, values := range h {
		if name == "Kubectl-Session" {
			continue
		}
		for _, value := range values {
			if name == "Authorization" {
				value = "Bearer <masked>"
			}
			lines = append(lines, name+": "+value)
		}
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}
