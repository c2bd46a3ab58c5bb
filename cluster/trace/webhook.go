package trace

// WebhookCalled is an answer of a simulated webhook server.
var WebhookCalled = define[WebhookCall]("webhook.call", GrainStage,
	"A webhook server was asked about an object, a token, an access or images, and answered the API server.",
	"What it allows and the patch it sends; the API server's own stage tells what became of it.",
	"apiserver pkg/admission/plugin/webhook/mutating/dispatcher.go callAttrMutatingHook")

// WebhookCall is one AdmissionReview, ConversionReview or other review, as the server answered it.
type WebhookCall struct {
	Webhook   string // the server: "sidecar-injector"
	Path      string
	UID       string   `json:",omitempty"` // of the review
	Review    string   `json:",omitempty"` // what was asked, if it was no AdmissionReview: "TokenReview"
	Operation string   `json:",omitempty"` // CREATE, UPDATE, DELETE, CONNECT; of an access review the verb
	Object    string   `json:",omitempty"` // "pods demo/web"
	Allowed   bool     `json:",omitempty"`
	Message   string   `json:",omitempty"`
	Patch     string   `json:",omitempty"` // JSON patch
	Warnings  []string `json:",omitempty"`
	Desired   string   `json:",omitempty"` // of a conversion: the version that is wanted
	Code      int      // HTTP status
	Lie       string   `json:",omitempty"` // what is wrong with the answer: uid, patch, verdict, garbage
	Error     string   `json:",omitempty"` // why it could not review
}
