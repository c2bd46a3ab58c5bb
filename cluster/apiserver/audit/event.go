package audit

import (
	"encoding/json"
	"maps"
	"time"

	authnv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	auditapi "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Record is one audited request: what its events say, filled in on its way
// through the pipeline (pkg/audit/context.go AuditContext).
type Record struct {
	Verdict
	ev  auditapi.Event
	log *Log
}

// Request is what is known of a request when it arrives.
type Request struct {
	ID         string // of the header Audit-ID, or drawn
	URI        string
	UserAgent  string
	SourceIPs  []string
	Received   time.Time
	Attributes authorizer.Attributes
}

// Begin begins the record of a request whose level is not None
// (pkg/audit/request.go LogRequestMetadata).
func Begin(v Verdict, r *Request, log *Log) *Record {
	rec := &Record{Verdict: v, log: log}
	ev, a := &rec.ev, r.Attributes
	ev.Level, ev.AuditID = v.Level, types.UID(r.ID)
	ev.RequestReceivedTimestamp = metav1.NewMicroTime(r.Received)
	ev.Verb, ev.RequestURI, ev.SourceIPs = a.GetVerb(), r.URI, r.SourceIPs
	ev.UserAgent = r.UserAgent
	if len(ev.UserAgent) > longestUserAgent {
		ev.UserAgent = ev.UserAgent[:longestUserAgent] + "...TRUNCATED"
	}
	if u := a.GetUser(); u != nil {
		ev.User = userInfo(u)
	}
	if a.IsResourceRequest() {
		ev.ObjectRef = &auditapi.ObjectReference{
			Namespace: a.GetNamespace(), Name: a.GetName(), Resource: a.GetResource(), Subresource: a.GetSubresource(),
			APIGroup: a.GetAPIGroup(), APIVersion: a.GetAPIVersion(),
		}
	}
	return rec
}

const longestUserAgent = 1024

func userInfo(u user.Info) authnv1.UserInfo {
	info := authnv1.UserInfo{Username: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: map[string]authnv1.ExtraValue{}}
	for k, v := range u.GetExtra() {
		info.Extra[k] = authnv1.ExtraValue(v)
	}
	return info
}

// Impersonated notes whom the request impersonates.
func (r *Record) Impersonated(u user.Info) {
	if r == nil {
		return
	}
	info := userInfo(u)
	r.ev.ImpersonatedUser = &info
}

// Annotate adds an annotation; the first value of a key stays.
func (r *Record) Annotate(key, value string) {
	if r.ev.Annotations == nil {
		r.ev.Annotations = map[string]string{}
	}
	if _, ok := r.ev.Annotations[key]; !ok {
		r.ev.Annotations[key] = value
	}
}

// Object notes the body of a request, which must say its kind: the reference
// learns from it what the path did not say, and from level Request on the event
// has it whole (LogRequestObject). obj is not kept.
func (r *Record) Object(obj runtime.Object) {
	if m, err := meta.Accessor(obj); err == nil && r.ev.ObjectRef != nil {
		ref := r.ev.ObjectRef
		first := func(have *string, other string) {
			if *have == "" {
				*have = other
			}
		}
		first(&ref.Namespace, m.GetNamespace())
		first(&ref.Name, m.GetName())
		first(&ref.ResourceVersion, m.GetResourceVersion())
		if ref.UID == "" {
			ref.UID = m.GetUID()
		}
	}
	if !r.Level.Less(auditapi.LevelRequest) {
		r.ev.RequestObject = r.encode(obj)
	}
}

// Patch notes the body of a patch (LogRequestPatch).
func (r *Record) Patch(patch []byte) {
	if !r.Level.Less(auditapi.LevelRequest) {
		r.ev.RequestObject = &runtime.Unknown{Raw: patch, ContentType: runtime.ContentTypeJSON}
	}
}

// Answer notes how the request ended: the code, and, where the answer is a
// Status, what it says (LogResponseObject). body, which must say its kind, is
// called only where the event has it.
func (r *Record) Answer(code int, status *metav1.Status, body func() runtime.Object) {
	r.ev.ResponseStatus = &metav1.Status{}
	if status != nil {
		r.ev.ResponseStatus = &metav1.Status{Status: status.Status, Message: status.Message, Reason: status.Reason, Details: status.Details}
	}
	r.ev.ResponseStatus.Code = int32(code)
	if r.Level.Less(auditapi.LevelRequestResponse) || body == nil {
		return
	}
	if obj := body(); obj != nil {
		r.ev.ResponseObject = r.encode(obj)
	}
}

// Write writes the event of a stage, unless the policy omits it. A failure is
// counted by the log.
func (r *Record) Write(stage auditapi.Stage, now time.Time) error {
	if r.Omits(stage) {
		return nil
	}
	r.ev.Stage, r.ev.StageTimestamp = stage, metav1.NewMicroTime(now)
	if stage == auditapi.StageRequestReceived {
		r.ev.StageTimestamp = r.ev.RequestReceivedTimestamp
	}
	ev := r.ev
	ev.Annotations = maps.Clone(ev.Annotations)
	return r.log.Write(&ev, now)
}

// encode is an object as the event has it. What cannot be encoded is left out.
func (r *Record) encode(obj runtime.Object) *runtime.Unknown {
	if r.OmitManagedFields {
		obj = obj.DeepCopyObject()
		strip := func(o runtime.Object) error {
			if m, err := meta.Accessor(o); err == nil {
				m.SetManagedFields(nil)
			}
			return nil
		}
		if meta.IsListType(obj) {
			_ = meta.EachListItem(obj, strip) // strip gives no error
		} else {
			_ = strip(obj)
		}
	}
	raw, err := json.Marshal(obj)
	if err != nil {
		return nil
	}
	return &runtime.Unknown{Raw: raw, ContentType: runtime.ContentTypeJSON}
}
