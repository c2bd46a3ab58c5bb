package apiserver

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// read gets one object from the store; nil if there is none.
func (s *Server) read(t *sim.Task, k *registry.Kind, key string) (*cacher.Entry, error) {
	en, _, err := s.look(t, k, key)
	return en, err
}

// look is read that also says how the value was encrypted; nil where its kind
// has no encryption.
func (s *Server) look(t *sim.Task, k *registry.Kind, key string) (*cacher.Entry, *cacher.Opened, error) {
	resp, err := s.st.Range(t, &pb.RangeRequest{Key: []byte(k.Prefix + key)})
	if err != nil || len(resp.Kvs) == 0 {
		return nil, nil, err
	}
	kv := resp.Kvs[0]
	if en := s.cacheOf(k).Get(key); en != nil && en.Revision == kv.ModRevision && !s.transformer(k).Configured() && !k.Converts() {
		return en, nil, nil
	}
	return s.open(t, k, kv)
}

// get is the verb get.
func (c *call) get() *Response {
	if c.sub != nil && !contains(c.sub.Verbs, "get") {
		return &Response{Err: apierrors.NewMethodNotSupported(c.kind.GroupResource(), "get")}
	}
	key := keyOf(c.kind, c.req.Namespace, c.req.Name)
	rv, err := object.ParseRevision(c.req.Get.ResourceVersion)
	if err != nil {
		if c.kind.Kind == "Event" { // upstream has no watch cache of them; its store's words
			err = apierrors.NewBadRequest("invalid resource version: " + err.Error())
		}
		return &Response{Err: request.PlainError(err)}
	}
	var obj runtime.Object
	if c.req.Get.ResourceVersion != "" && !c.cache().IsLost() {
		if !c.cache().Wait(c.Task, rv, tooNewWait) {
			return &Response{Err: c.Refuse(trace.StageStorage, "watch cache", tooLarge(rv, c.cache().Current()))}
		}
		if en := c.cache().Get(key); en != nil {
			obj = en.Object
		}
		if obj != nil {
			c.Pass(trace.StageStorage, "watch cache", "Read "+c.kind.Prefix+key+" from the watch cache: the client accepts any state from revision "+object.FormatRevision(rv)+" on.", nil)
		}
	} else {
		en, _, err := c.read(key, func(en *cacher.Entry) {
			c.Pass(trace.StageStorage, "etcd", "Read "+c.kind.Prefix+key+" from the store, at revision "+object.Meta(en.Object).GetResourceVersion()+".", nil)
		})
		if err != nil {
			return &Response{Err: c.Refuse(trace.StageStorage, "", err)}
		}
		if en != nil {
			obj = en.Object
		}
	}
	if obj == nil {
		return &Response{Err: c.Refuse(trace.StageStorage, "", apierrors.NewNotFound(c.kind.GroupResource(), c.req.Name))}
	}
	if c.sub != nil && c.sub.Name == "scale" {
		scale, err := c.scaleOf(obj)
		if err != nil {
			return &Response{Err: err}
		}
		return &Response{Object: scale}
	}
	return own(obj)
}

func contains(list []string, s string) bool {
	for _, o := range list {
		if o == s {
			return true
		}
	}
	return false
}

// tooLarge is what a revision that is not there yet gives.
func tooLarge(want, have int64) error {
	err := apierrors.NewTimeoutError("Too large resource version: "+object.FormatRevision(want)+", current: "+object.FormatRevision(have), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}
