package apiserver

import (
	"kviz/cluster/apiserver/aggregator"
	"kviz/cluster/apiserver/handlers"
	"kviz/cluster/apiserver/request"
)

// aggregate sends the request on to the server that serves its group version.
func aggregate(c *handlers.Call, to *aggregator.Aggregator) *request.Response {
	answer := to.Proxy(&c.Scope, c.Req.Resource.GroupVersion(), c.User, c.Req.Proxied)
	if answer == nil {
		return &request.Response{Err: notServed()}
	}
	return &request.Response{Raw: answer}
}
