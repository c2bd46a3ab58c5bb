// Package proof has the real kube-apiserver and kviz' API server answer the
// same HTTP requests: for every kind that kviz serves, by one script of general
// cases and the kind's own from testdata, and by scripts of the API machinery.
// What two servers cannot have in common (UIDs, revisions, times, generated
// names, addresses, tokens) is written as a placeholder; everything else, codes,
// bodies, warnings, reasons, messages and causes, must be the same or be listed
// with a reason (differences.go).
//
// Start reading at TestTheyAnswerTheSame, then kind.go and testdata/kinds.yaml.
package proof

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// step is one request of a script: a case. Path and body may say {uid}, {rv},
// {continue} and {listrv}: what this side's newest answers had there.
type step struct {
	name         string
	method, path string
	body         string
	contentType  string // application/json where there is a body and this is ""
	accept       string // application/json where this is ""
	headers      [][2]string
	// until repeats the request until this code is answered, for as long as the side's
	// patience lasts: kube-apiserver hears of its own objects by watches.
	until int
}

// script is steps that build on one another.
type script struct {
	name  string
	steps []step
}

// side is one of the two servers, and what its newest answers had in them.
type side struct {
	name, url, token string
	client           *http.Client
	vars             map[string]string
	patience         time.Duration // how long a step may wait for its code
	// waits, if set, is told that somebody waits for time to pass, and when no more.
	waits func(bool)
}

func newSide(name, url, token string) *side {
	return &side{name: name, url: url, token: token, client: insecure(), vars: map[string]string{}}
}

// code asks for a path and gives the answer's code.
func (s *side) code(path string) (int, error) {
	a, err := s.ask(step{method: "GET", path: path})
	return a.code, err
}

// answer is what came back, as it came.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

// ask sends a step's request and gives the answer; where the step waits for a code,
// it is asked again by the machine's clock, since the real kube-apiserver knows no
// other.
func (s *side) ask(st step) (answer, error) {
	for end := time.Now().Add(s.patience); ; time.Sleep(20 * time.Millisecond) {
		a, err := s.once(st)
		if err != nil || st.until == 0 || a.code == st.until || time.Now().After(end) {
			return a, err
		}
	}
}

func (s *side) once(st step) (answer, error) {
	var pairs []string
	for name, value := range s.vars {
		pairs = append(pairs, "{"+name+"}", value)
	}
	fill := strings.NewReplacer(pairs...)
	var body io.Reader
	if st.body != "" {
		body = strings.NewReader(fill.Replace(st.body))
	}
	r, err := http.NewRequest(st.method, s.url+fill.Replace(st.path), body)
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("User-Agent", "proof/1")
	r.Header.Set("Accept", or(st.accept, "application/json"))
	if st.body != "" {
		r.Header.Set("Content-Type", or(st.contentType, "application/json"))
	}
	for _, h := range st.headers {
		r.Header.Set(h[0], h[1])
	}
	if s.waits != nil && strings.Contains(st.path, "timeoutSeconds") {
		s.waits(true)
		defer s.waits(false)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", s.name, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %s %s: %w", s.name, st.method, st.path, err)
	}
	a := answer{resp.StatusCode, resp.Header, b}
	s.learn(a)
	return a, nil
}

// learn keeps what later steps may want to say back.
func (s *side) learn(a answer) {
	if a.code >= http.StatusMultipleChoices {
		return
	}
	var m struct {
		Kind     string
		Metadata struct{ UID, ResourceVersion, Continue string }
	}
	if json.Unmarshal(bytes.TrimSpace(a.body), &m) != nil {
		return
	}
	switch {
	case m.Metadata.UID != "":
		s.vars["uid"], s.vars["rv"] = m.Metadata.UID, m.Metadata.ResourceVersion
	case m.Metadata.ResourceVersion != "":
		s.vars["listrv"], s.vars["continue"] = m.Metadata.ResourceVersion, m.Metadata.Continue
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
