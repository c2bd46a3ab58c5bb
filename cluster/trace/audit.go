package trace

// AuditChanged is a step in the life of the audit policy or of the audit log. What is
// logged about a request is in its stage "audit".
var AuditChanged = define[Audit]("api.audit", GrainStage,
	"The API server's audit policy was written, taken up or removed; or its audit log began to fail, works again, or began a new file.",
	"The first rule that matches a request decides how much of it is written: None, Metadata, Request or RequestResponse.",
	"apiserver pkg/audit/policy/checker.go EvaluatePolicyRule; plugin/pkg/audit/log/backend.go")

// Audit is what happened to the audit policy or the audit log.
type Audit struct {
	What   string // written, loaded, removed; failed, recovered, rotated
	File   string
	Hash   string   `json:",omitempty"` // of the policy: "sha256:…"
	Rules  []string `json:",omitempty"` // of the policy: "Metadata: secrets"
	Error  string   `json:",omitempty"`
	Events uint64   `json:",omitempty"` // apiserver_audit_event_total
	Errors uint64   `json:",omitempty"` // apiserver_audit_error_total
	Server string   `json:",omitempty"` // whose it is: "apiserver/b"; "" for the first API server's
}
