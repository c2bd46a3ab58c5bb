package webhook

import (
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"

	"kviz/cluster/trace"
)

// Lie is what is wrong with a server's answers.
type Lie string

// The lies. Whatever they are, nothing but the API server's checks stands between
// them and the stored object.
const (
	Honest     Lie = ""
	WrongUID   Lie = "uid"     // the answer is to another request
	WrongPatch Lie = "patch"   // allowed, with a patch that is none
	Contrary   Lie = "verdict" // the contrary of what it should say
	Garbage    Lie = "garbage" // allowed, it says, and what follows is no JSON
)

// Lies lists the lies of a server by name, the one first that it tells unless it is
// told another. Only an admission review has a UID and a patch, and a conversion no
// verdict; the patch that is none is, there, an object of another name.
func Lies(server string) []Lie {
	for _, p := range catalogue {
		switch {
		case p.name != server:
		case p.path == conversionPath:
			return []Lie{WrongUID, WrongPatch, Garbage}
		case p.answer != nil:
			return []Lie{Contrary, Garbage}
		}
	}
	return []Lie{WrongUID, WrongPatch, Contrary, Garbage}
}

// tell writes the answer as it is sent, and what the trace says of it.
func (l Lie) tell(review *admissionv1.AdmissionReview, resp *admissionv1.AdmissionResponse, p *trace.WebhookCall) []byte {
	switch l {
	case WrongUID:
		resp.UID = "00000000-0000-4000-8000-000000000000"
	case WrongPatch:
		kind := admissionv1.PatchTypeJSONPatch
		resp.Allowed, resp.Result, resp.Patch, resp.PatchType = true, nil, []byte(`{"spec":"mine"}`), &kind
	case Contrary:
		resp.Allowed, resp.Result, resp.Patch, resp.PatchType = !resp.Allowed, nil, nil, nil
	}
	p.Allowed, p.Patch, p.Warnings = resp.Allowed, string(resp.Patch), resp.Warnings
	if resp.Result != nil {
		p.Message = resp.Result.Message
	}
	if l != Honest {
		p.Lie = string(l)
	}
	if l == Garbage {
		return []byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"allowed":true,` + "\x00")
	}
	out := &admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: resp}
	data, err := json.Marshal(out)
	if err != nil {
		panic(fmt.Sprintf("webhook: encoding an answer: %v", err)) // made of strings only
	}
	return data
}
