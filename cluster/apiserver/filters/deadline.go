package filters

import (
	"time"

	"kviz/cluster/apiserver/request"
)

// Deadline is when a request that began then ends with 504 if it is not answered by then
// (request_deadline.go WithRequestDeadline); 0 for what may last: a watch, or, as lasts
// says, a connection. Only the store is waited for so long that it matters.
func Deadline(req *request.Request, began time.Duration, lasts bool) time.Duration {
	if req.Verb == "watch" || lasts {
		return 0
	}
	limit := request.Longest
	if req.Timeout > 0 {
		limit = min(limit, req.Timeout)
	}
	return began + limit
}
