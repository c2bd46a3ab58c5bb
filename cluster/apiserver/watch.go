package apiserver

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
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// watch is the verb watch (apiserver pkg/storage/cacher/cacher.go Watch).
func (c *call) watch() *Response {
	opts := &c.req.List
	if err := validWatch(opts); err != nil {
		return &Response{Err: c.Refuse(trace.StageDecode, "", err)}
	}
	want, err := cacher.NewSelector(c.kind, c.req.Namespace, c.req.Name, opts)
	if err != nil {
		return &Response{Err: c.Refuse(trace.StageDecode, "", err)}
	}
	from, err := object.ParseRevision(opts.ResourceVersion)
	if err != nil {
		return &Response{Err: c.Refuse(trace.StageDecode, "", request.PlainError(err))}
	}
	if c.cache().IsLost() {
		return &Response{Err: c.Refuse(trace.StageStorage, "watch cache", c.cache().Unready(c.Task.Elapsed()))}
	}
	streaming := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	if streaming {
		if _, err := c.s.store.Freshen(&c.Scope, c.kind, opts.ResourceVersion); err != nil {
			return &Response{Err: c.Refuse(trace.StageStorage, "watch cache", err)}
		}
	} else if !c.cache().Wait(c.Task, 0, etcd3.TooNewWait) {
		return &Response{Err: c.Refuse(trace.StageStorage, "watch cache", apierrors.NewTooManyRequests("storage is (re)initializing", 1))}
	}
	// From here to the watcher's registration no other task runs.
	w, how, err := c.cache().Watch(want, cacher.WatchOptions{
		Client: c.req.Sender(), Component: c.req.System, From: from, Streaming: streaming, Bookmarks: opts.AllowWatchBookmarks,
		Limit: watchLimit(opts), Cause: c.Last,
	})
	if err != nil {
		return &Response{Err: c.Refuse(trace.StageStorage, "watch cache", err)}
	}
	c.Pass(trace.StageStorage, "watch cache", how, nil)
	w.Begin(c.Task, c.Ref, c.Last)
	return &Response{Watch: w}
}

// watchLimit is how long the client wants the watch to be; 0 for ever.
func watchLimit(opts *metav1.ListOptions) time.Duration {
	if opts.TimeoutSeconds == nil {
		return 0
	}
	return time.Duration(*opts.TimeoutSeconds) * time.Second
}

// keepFresh sends bookmarks, so that a watcher that has nothing to hear keeps a
// revision it can resume from (cacher.go bookmarkFrequency).
func (s *Server) keepFresh(t *sim.Task) {
	for {
		t.Sleep(s.cfg.Bookmarks)
		for _, cache := range s.openCaches() {
			cache.Bookmark()
		}
	}
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
