// Package secrets keeps what is secret out of recordings: the data of Secrets, tokens, and what
// was typed to make them.
//
// The worked idea. A [Hider] is given a run's events in their order and puts placeholders where
// secrets are. The same secret always gets the same placeholder, of the same length, so that
// sizes, diffs and comparisons come out as they were, and a run that is forked from the recording
// does the same with the placeholders as the first run did with the secrets:
//
//	kubectl create secret generic db --from-literal=password=correct-horse
//	kubectl create secret generic db --from-literal=password=hiddenxxxxxx0
//
// Placeholders are numbered as the secrets come, so they say nothing about what they stand for,
// and a run that is run again gives the same number to the same secret. That is how a fork finds
// the token that a placeholder in a request stands for: its own cluster has signed it again, and
// its own Hider knows it by the same placeholder ([Hider.Restore]).
//
// What is hidden is known by its place (events.go, objects.go, document.go, words.go): the values
// of a Secret wherever it stands as an object, a body, a patch or a diff, the credentials of a
// request, and what the flags of kubectl say. From then on a value is also looked for in texts
// (text.go), as it is and in base64, if it is long enough not to be met there by chance.
//
// Start reading at [Hider.Hide].
package secrets

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"kviz/cluster/trace"
)

// Hider puts placeholders for secrets into the events of one run, and secrets for placeholders.
// It may be used from several goroutines.
type Hider struct {
	mu     sync.Mutex
	stands map[string]string // for a secret: its placeholder
	of     map[string]string // the other way
	drawn  map[int]uint64    // how many placeholders there are of a length
	hide   []form            // what is looked for in texts
	back   []form            // the same the other way
	asked  map[uint64]string // requests for Secrets: of which type
	lines  map[string]string // commands as they were typed: the same without secrets
	typed  map[string]string // the other way
	again  bool              // see NewAgain
}

// form is one way in which a secret stands in a text.
type form struct{ from, to string }

// New makes a Hider for a run that begins.
func New() *Hider {
	return &Hider{stands: map[string]string{}, of: map[string]string{}, drawn: map[int]uint64{}, asked: map[uint64]string{}, lines: map[string]string{}, typed: map[string]string{}}
}

// NewAgain makes a Hider for a run that is run again, from a recording or from memory: it knows
// the placeholders of a recording where it meets them, so that a secret of the cluster's own
// gets the number that it had.
func NewAgain() *Hider {
	h := New()
	h.again = true
	return h
}

// Hide is an event without secrets: the event itself where it has none. Give it all of a
// run's events, in their order.
func (h *Hider) Hide(e *trace.Event) *trace.Event { return h.event(e, pass{Hider: h}) }

// Restore is an event of this run that [Hider.Hide] has been given, from what it gave back.
func (h *Hider) Restore(e *trace.Event) *trace.Event {
	return h.event(e, pass{Hider: h, back: true})
}

// RestoreInput is what enters a run that is run again, with the tokens that this cluster has
// signed for the placeholders in a recording. What was typed stays a placeholder.
func (h *Hider) RestoreInput(in *trace.Input) *trace.Input {
	e := h.event(&trace.Event{Payload: in}, pass{Hider: h, back: true, least: recognized})
	return e.Payload.(*trace.Input)
}

func (h *Hider) event(e *trace.Event, p pass) *trace.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	payload := (&p).payload(e.Object, e.Payload)
	if payload == nil {
		return e
	}
	hidden := *e
	hidden.Payload = payload
	return &hidden
}

// pass is one way through an event: to hide, or back.
type pass struct {
	*Hider
	back  bool
	least int // back: what is shorter stays
}

// Shortest texts in which secrets are looked for: what is shorter is met by chance, and so are
// words, which have one more letter than the longest that are common here.
const (
	shortestForm = 6
	shortestWord = 11
)

// value is what stands for a secret.
func (p *pass) value(s string) string {
	if p.back {
		return p.was(s)
	}
	if stands, ok := p.stands[s]; ok || s == "" {
		return stands
	}
	stands := ""
	if p.again && p.recognize(s) {
		stands = s
	} else if strings.Contains(s, "\n") { // texts show single lines of it
		lines := strings.Split(s, "\n")
		for i, line := range lines {
			if !strings.HasPrefix(line, "-----") {
				lines[i] = p.value(line)
			}
		}
		stands = strings.Join(lines, "\n")
	} else {
		stands = p.draw(len(s))
		p.seek(s, stands)
	}
	p.keep(s, stands)
	p.seek64(s, stands)
	return stands
}

// was is what a placeholder stands for.
func (p *pass) was(stands string) string {
	if len(stands) < p.least {
		return stands
	}
	return cmp.Or(p.of[stands], stands)
}

func (p *pass) keep(s, stands string) { p.stands[s], p.of[stands] = stands, s }

// opaque is value for what is never part of a text.
func (p *pass) opaque(s string) string {
	if p.back {
		return p.was(s)
	}
	if _, ok := p.stands[s]; !ok && s != "" {
		p.keep(s, p.draw(len(s)))
	}
	return p.stands[s]
}

// A placeholder of some length is known by how it begins.
const (
	begins     = "hidden"
	recognized = 12
	digits     = 33 // of its number, which so never has an x
)

var placeholder = regexp.MustCompile(`^` + begins + `x*([0-9a-w]+)$`)

// recognize reports whether a text is a placeholder of a recording; the next one of its length has
// the number after it.
func (p *pass) recognize(s string) bool {
	m := placeholder.FindStringSubmatch(s)
	if m == nil || len(s) < recognized {
		return false
	}
	number, err := strconv.ParseUint(m[1], digits, 32)
	if err != nil {
		return false
	}
	p.drawn[len(s)] = max(p.drawn[len(s)], number+1)
	return true
}

// draw makes the next placeholder of a length.
func (p *pass) draw(n int) string {
	number := strconv.FormatUint(p.drawn[n], digits)
	p.drawn[n]++
	if len(number) >= n {
		return number[len(number)-n:]
	}
	if n < len(begins)+len(number) {
		return strings.Repeat("x", n-len(number)) + number
	}
	return begins + strings.Repeat("x", n-len(begins)-len(number)) + number
}

var word = regexp.MustCompile(`^[a-z]+$|^[0-9]+$`)

// seek has texts searched for a secret from now on.
func (p *pass) seek(s, stands string) {
	if len(s) < shortestForm || word.MatchString(s) && len(s) < shortestWord {
		return
	}
	p.add(s, stands)
	quoted, _ := json.Marshal(s) // of a text it does not fail
	if in := string(quoted[1 : len(quoted)-1]); in != s {
		p.add(in, padded(stands, len(in)))
	}
}

// seek64 does so for its base64.
func (p *pass) seek64(s, stands string) {
	if len(s) >= 3 {
		p.add(base64.StdEncoding.EncodeToString([]byte(s)), base64.StdEncoding.EncodeToString([]byte(stands)))
	}
}

// add keeps the longest forms first: one secret may be a part of another.
func (p *pass) add(from, to string) {
	insert := func(all []form, f form) []form {
		i, _ := slices.BinarySearchFunc(all, f, func(a, b form) int {
			return cmp.Or(cmp.Compare(len(b.from), len(a.from)), cmp.Compare(a.from, b.from))
		})
		return slices.Insert(all, i, f)
	}
	p.Hider.hide, p.Hider.back = insert(p.Hider.hide, form{from, to}), insert(p.Hider.back, form{to, from})
}

// longer is a placeholder of a greater length than the secret, where JSON needs more for that.
func (p *pass) longer(s string, n int) string {
	if p.value(s); len(s) == n {
		return p.stands[s]
	}
	key := strconv.Itoa(n) + " " + s // no secret: it is never looked for
	if p.stands[key] == "" {
		p.stands[key] = p.draw(n)
		p.of[p.stands[key]] = s
	}
	return p.stands[key]
}

// padded is a placeholder at a greater length, for texts.
func padded(s string, n int) string {
	at := 0
	if strings.HasPrefix(s, begins) {
		at = len(begins)
	}
	return s[:at] + strings.Repeat("x", max(0, n-len(s))) + s[at:]
}

var (
	jwt       = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$`)
	bootstrap = regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`)
)

// token is what stands for a bearer token. A bootstrap token begins with its ID, which is no
// secret; the tokens of the identity provider are left, since a run that is run again does not
// come by them.
func (p *pass) token(s string) string {
	switch {
	case bootstrap.MatchString(s):
		return s[:7] + p.value(s[7:])
	case jwt.MatchString(s) && !p.back:
		var claims struct {
			Issuer string `json:"iss"`
		}
		b, err := base64.RawURLEncoding.DecodeString(strings.Split(s, ".")[1])
		if err == nil && json.Unmarshal(b, &claims) == nil && claims.Issuer != "" && !strings.Contains(claims.Issuer, "kubernetes.default") {
			return s
		}
	}
	return p.value(s)
}
