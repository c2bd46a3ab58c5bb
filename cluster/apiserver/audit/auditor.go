package audit

import (
	"math/rand/v2"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	auditapi "k8s.io/apiserver/pkg/apis/audit"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Auditor is the audit log as one server has it. The policy's file and the log are on the
// machine's disk and outlive the process.
type Auditor struct {
	k       *sim.Kernel
	process *sim.Process
	server  string // in the trace

	sources Sources

	file   []byte  // what PolicyFile holds; nil where there is none
	policy *Policy // in force; nil where nothing is
	log    Log
	rand   *rand.Rand
	failed bool // the newest event could not be written
	// rotations of the log that the trace has told of
	rotations int
}

// NewAuditor makes the auditor of a server, which the trace calls server. sources tell
// where a request comes from; chances are what identifiers of requests are drawn from.
func NewAuditor(k *sim.Kernel, server string, chances *rand.Rand, sources Sources) *Auditor {
	return &Auditor{k: k, server: server, rand: chances, sources: sources}
}

// State is what is known of the audit log.
type State struct {
	FileHash, LoadedHash   string // "" where there is none
	FileRules, LoadedRules []string
	Files                  []string // of the log, the newest last
	Events, Errors         uint64   // apiserver_audit_event_total, apiserver_audit_error_total
	Full                   bool     // the log's disk has no room
}

// State returns what the policy's file says, which policy is in effect, and the log's
// state.
func (a *Auditor) State() State {
	st := State{Files: a.log.Files(), Full: a.log.Full()}
	st.Events, st.Errors = a.log.Counts()
	if a.file != nil {
		if p, err := Parse(a.file); err == nil {
			st.FileHash, st.FileRules = p.Hash, p.Rules()
		}
	}
	if a.policy != nil {
		st.LoadedHash, st.LoadedRules = a.policy.Hash, a.policy.Rules()
	}
	return st
}

// Write puts a policy into the server's file, which it reads when it starts. One that
// the server could not start with is refused in its words.
func (a *Auditor) Write(t *sim.Task, file []byte) error {
	p, err := Parse(file)
	if err != nil {
		return err
	}
	a.file = slices.Clone(file)
	a.tell(t, &trace.Audit{What: "written", File: PolicyFile, Hash: p.Hash, Rules: p.Rules()})
	return nil
}

// Copy takes the policy's file of another server's machine.
func (a *Auditor) Copy(from *Auditor) { a.file = slices.Clone(from.file) }

// On reports whether anything is written of requests.
func (a *Auditor) On() bool { return a.policy != nil }

// Files are the names of the files that are there: the policy's, and those of the log.
func (a *Auditor) Files() (names []string) {
	if a.file != nil {
		names = append(names, PolicyFile)
	}
	return append(names, a.log.Files()...)
}

// ReadFile is what one of them holds. The error of a file that is not there is fs.ErrNotExist.
func (a *Auditor) ReadFile(name string) ([]byte, error) {
	if name == PolicyFile && a.file != nil {
		return a.file, nil
	}
	return a.log.Read(name)
}

// Remove takes the file away: the server starts without the flag then.
func (a *Auditor) Remove(t *sim.Task) {
	if a.file != nil {
		a.file = nil
		a.tell(t, &trace.Audit{What: "removed", File: PolicyFile})
	}
}

// Fill takes the room on the audit log's disk away, or gives it back.
func (a *Auditor) Fill(full bool) { a.log.Fill(full) }

func (a *Auditor) tell(t *sim.Task, p *trace.Audit) {
	p.Server = a.server
	t.Emit(trace.Event{Kind: trace.AuditChanged, Payload: p})
}

// Start reads the policy: a part of the server's start.
func (a *Auditor) Start(t *sim.Task, p *sim.Process) {
	a.process = p
	was := a.policy
	a.policy = nil
	if a.file != nil {
		p, err := Parse(a.file)
		if err != nil {
			panic("apiserver: " + err.Error()) // it was read when it was written
		}
		a.policy = p
		a.tell(t, &trace.Audit{What: "loaded", File: PolicyFile, Hash: p.Hash, Rules: p.Rules()})
	} else if was != nil {
		a.tell(t, &trace.Audit{What: "loaded", File: PolicyFile})
	}
}

// id is a request's: what its sender gave, or a new one (endpoints/filters/audit_init.go).
func (a *Auditor) id(r *request.Request) string {
	if r.AuditID == "" {
		r.AuditID = string(object.NewUID(a.rand))
	}
	return r.AuditID
}

// begin asks the policy about a request, and begins its record unless the level is None.
func (a *Auditor) begin(on *request.Scope, r *request.Request, user authn.User) (*Record, Verdict) {
	attrs := attributes(r, user)
	v := a.policy.Evaluate(attrs)
	a.log.Judged(v.Level)
	if v.Level == auditapi.LevelNone {
		return nil, v
	}
	record := Begin(v, &Request{
		ID: a.id(r), URI: r.URI(), UserAgent: userAgent(r, user), SourceIPs: a.sources.IPs(r),
		Received: a.k.Epoch().Add(on.Began), Attributes: attrs,
	}, &a.log)
	for _, note := range on.Proven {
		record.Annotate(note.Key, note.Value)
	}
	return record, v
}

// Refused writes of a request whose sender nobody vouches for
// (endpoints/filters/authn_audit.go).
func (a *Auditor) Refused(on *request.Scope, r *request.Request) {
	if a.policy == nil {
		return
	}
	record, _ := a.begin(on, r, authn.User{})
	if record == nil {
		return
	}
	st := request.StatusOf(apierrors.NewUnauthorized("Unauthorized"))
	record.Answer(int(st.Code), st, func() runtime.Object { return st })
	_ = a.write(record, auditapi.StageResponseStarted, on.Last) // counted
}

// write writes the event of a stage. That the log begins to fail, or works again, or that
// its file was rotated, is told in the trace, because of the newest event of the request;
// zero where it leaves nothing there.
func (a *Auditor) write(record *Record, stage auditapi.Stage, last trace.ID) error {
	err := record.Write(stage, a.k.Now())
	told := &trace.Audit{File: LogFile, Server: a.server}
	rotations, name := a.log.Rotations()
	switch {
	case err != nil && !a.failed:
		told.What, told.Error = "failed", err.Error()
	case err == nil && a.failed:
		told.What = "recovered"
	case err == nil && rotations > a.rotations:
		told.What, told.File = "rotated", name
	}
	a.failed, a.rotations = err != nil, rotations
	if told.What != "" {
		told.Events, told.Errors = a.log.Counts()
		causes := []trace.ID{}
		if !last.IsZero() {
			causes = append(causes, last)
		}
		a.k.Emit(trace.Event{Lane: a.process.Lane, Kind: trace.AuditChanged, Causes: causes, Payload: told})
	}
	return err
}
