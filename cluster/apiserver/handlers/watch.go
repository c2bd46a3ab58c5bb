package handlers

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// watch is the verb watch (apiserver pkg/storage/cacher/cacher.go Watch).
func (h *Handlers) watch(c *Call) *request.Response {
	opts := &c.Req.List
	if err := validWatch(opts); err != nil {
		return &request.Response{Err: c.Refuse(trace.StageDecode, "", err)}
	}
	want, err := etcd3.Selecting(&c.Scope, etcd3.Range{Kind: c.Kind, Namespace: c.Req.Namespace, Name: c.Req.Name}, opts)
	if err != nil {
		return &request.Response{Err: c.Refuse(trace.StageDecode, "", err)}
	}
	from, err := object.ParseRevision(opts.ResourceVersion)
	if err != nil {
		return &request.Response{Err: c.Refuse(trace.StageDecode, "", request.PlainError(err))}
	}
	if h.Store.Caches(c.Kind).IsLost() {
		return &request.Response{Err: c.Refuse(trace.StageStorage, "watch cache", h.Store.Caches(c.Kind).Unready(c.Task.Elapsed()))}
	}
	streaming := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	if streaming {
		if _, err := h.Store.Freshen(&c.Scope, c.Kind, opts.ResourceVersion); err != nil {
			return &request.Response{Err: c.Refuse(trace.StageStorage, "watch cache", err)}
		}
	} else if !h.Store.Caches(c.Kind).Wait(c.Task, 0, etcd3.TooNewWait) {
		return &request.Response{Err: c.Refuse(trace.StageStorage, "watch cache", apierrors.NewTooManyRequests("storage is (re)initializing", 1))}
	}
	// From here to the watcher's registration no other task runs.
	w, how, err := h.Store.Caches(c.Kind).Watch(want, cacher.WatchOptions{
		Client: c.Req.Sender(), Component: c.Req.System, Console: c.Bulk.Console, From: from, Streaming: streaming, Bookmarks: opts.AllowWatchBookmarks,
		Limit: watchLimit(opts), Cause: c.Last,
	})
	if err != nil {
		return &request.Response{Err: c.Refuse(trace.StageStorage, "watch cache", err)}
	}
	c.Pass(trace.StageStorage, "watch cache", how, nil)
	w.Begin(c.Task, c.Ref, c.Last)
	return &request.Response{Watch: w}
}

// watchLimit is how long the client wants the watch to be; 0 for ever.
func watchLimit(opts *metav1.ListOptions) time.Duration {
	if opts.TimeoutSeconds == nil {
		return 0
	}
	return time.Duration(*opts.TimeoutSeconds) * time.Second
}

// validWatch is k8s.io/apimachinery
// pkg/apis/meta/internalversion/validation.ValidateListOptions for watches.
func validWatch(opts *metav1.ListOptions) error {
	var errs field.ErrorList
	if opts.SendInitialEvents != nil {
		if opts.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan {
			errs = append(errs, field.Forbidden(field.NewPath("resourceVersionMatch"), "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
		}
	} else if opts.ResourceVersionMatch != "" {
		errs = append(errs, field.Forbidden(field.NewPath("resourceVersionMatch"), "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"))
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: "meta.k8s.io", Kind: "ListOptions"}, "", errs)
	}
	return nil
}
