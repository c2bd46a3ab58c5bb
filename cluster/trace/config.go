package trace

// ServerConfigured is a step in the life of a file that the API server is
// configured with, where the file has no kind of its own (api.encryption, api.audit).
var ServerConfigured = define[ServerConfig]("api.config", GrainStage,
	"A file that the API server is configured with was written or removed, or taken up by a server that started.",
	"kube-apiserver reads --admission-control-config-file and its like once, when it starts.",
	"apiserver pkg/server/options/admission.go ApplyTo")

// ServerConfig is what happened to a file that the API server is configured with.
type ServerConfig struct {
	What string // written, removed, loaded, refused
	File string
	For  string   // what it configures: "admission"
	Hash string   `json:",omitempty"` // of the file: "sha256:…"; "" where there is none any more
	Says []string `json:",omitempty"` // in short: "EventRateLimit: 5 a second, …"

	// Error is why a running server has not loaded the file: the previous configuration
	// stays in effect.
	Error string `json:",omitempty"`

	Server string `json:",omitempty"` // whose file it is: "apiserver/b"; "" for the first API server's
}
