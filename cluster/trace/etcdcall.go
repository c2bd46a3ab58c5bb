package trace

// EtcdRequest is a request that did not come from an API server.
var EtcdRequest = define[EtcdCall]("store.request", GrainStage,
	"A client that is no API server (etcdctl) asked the store itself: nothing of Kubernetes checks what it writes.",
	"The command that it comes from, and the store.commit that follows a write.",
	"etcd server/etcdserver/api/v3rpc; etcdctl ctlv3/command")

// EtcdCall is one call of etcd's gRPC API.
type EtcdCall struct {
	Method string // "KV/Put"
	Member string // whose address was called
	Key    string `json:",omitempty"`
	Error  string `json:",omitempty"` // why nobody answered
}
