package etcdapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/etcdserverpb/gw"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/api/v3/version"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"

	v3electiongw "go.etcd.io/etcd/server/v3/etcdserver/api/v3election/v3electionpb/gw"
	v3lockgw "go.etcd.io/etcd/server/v3/etcdserver/api/v3lock/v3lockpb/gw"
)

// mux is what the port answers over plain HTTP.
//
// Mirrors etcd server/etcdserver/api/etcdhttp and server/embed/serve.go
// registerGateway.
func (f *frontend) mux(in *inside) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", f.numbers.Handler())
	mux.HandleFunc("/version", f.version)
	mux.HandleFunc("/health", f.health)
	f.checks(mux, "livez", "serializable_read")
	f.checks(mux, "readyz", "data_corruption", "serializable_read", "linearizable_read", "non_learner")
	mux.HandleFunc("/v3/", func(w http.ResponseWriter, r *http.Request) {
		gateway, err := in.gateway()
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		gateway.ServeHTTP(w, r)
	})
	return f.access(mux)
}

// newGateway translates JSON into gRPC calls.
func newGateway(conn *grpc.ClientConn) (http.Handler, error) {
	mux := runtime.NewServeMux(runtime.WithMarshalerOption(runtime.MIMEWildcard, &runtime.HTTPBodyMarshaler{Marshaler: &runtime.JSONPb{
		MarshalOptions:   protojson.MarshalOptions{UseProtoNames: true},
		UnmarshalOptions: protojson.UnmarshalOptions{DiscardUnknown: true},
	}}))
	for _, register := range []func(context.Context, *runtime.ServeMux, *grpc.ClientConn) error{
		gw.RegisterKVHandler, gw.RegisterWatchHandler, gw.RegisterLeaseHandler, gw.RegisterClusterHandler,
		gw.RegisterMaintenanceHandler, gw.RegisterAuthHandler, v3lockgw.RegisterLockHandler, v3electiongw.RegisterElectionHandler,
	} {
		if err := register(context.Background(), mux, conn); err != nil {
			return nil, err
		}
	}
	return webSockets(mux), nil
}

func onlyGet(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet {
		return true
	}
	w.Header().Set("Allow", http.MethodGet)
	http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
	return false
}

func (f *frontend) version(w http.ResponseWriter, r *http.Request) {
	if !onlyGet(w, r) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	now := f.versionsAt(f.member)
	f.reply(w, &version.Versions{Server: Version, Cluster: now.Cluster, Storage: now.Cluster})
}

func (f *frontend) reply(w http.ResponseWriter, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings only
	}
	_, _ = w.Write(b) // a client that is gone has nobody to tell
}

// healthy is etcd's answer at /health.
type healthy struct {
	Health string `json:"health"`
	Reason string `json:"reason"`
}

func (f *frontend) health(w http.ResponseWriter, r *http.Request) {
	if !onlyGet(w, r) {
		return
	}
	serializable := r.URL.Query().Get("serializable") == "true"
	h := healthy{Health: "true"}
	if reason := f.unhealthy(r.Context(), r.URL.Query()["exclude"], serializable); reason != "" {
		h = healthy{Health: "false", Reason: reason}
	}
	if h.Health == "true" {
		f.numbers.HealthSuccess.Inc()
		f.reply(w, h)
		return
	}
	f.numbers.HealthFailures.Inc()
	b, err := json.Marshal(h)
	if err != nil {
		panic(err) // strings only
	}
	http.Error(w, string(b), http.StatusServiceUnavailable)
}

// unhealthy says why the member is, "" if it is not.
func (f *frontend) unhealthy(ctx context.Context, exclude []string, serializable bool) string {
	for _, a := range f.server.store.Alarms() {
		if !slices.Contains(exclude, a.Alarm.String()) {
			switch a.Alarm {
			case pb.AlarmType_NOSPACE, pb.AlarmType_CORRUPT:
				return "ALARM " + a.Alarm.String()
			}
			return "ALARM UNKNOWN"
		}
	}
	if !serializable && f.leader() == "" {
		return "RAFT NO LEADER"
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := f.canRead(ctx, serializable); err != nil {
		return "RANGE ERROR:" + err.Error()
	}
	return ""
}

// canRead tries a read that needs no permission.
func (f *frontend) canRead(ctx context.Context, serializable bool) error {
	_, err := f.read(ctx, f.root(), &pb.RangeRequest{Key: []byte{0}, KeysOnly: true, Limit: 1, Serializable: serializable})
	return plain(err)
}

// plain is an error as it is called inside of etcd.
func plain(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(rpctypes.ErrorDesc(asStatus(err)))
}

// check runs one of the checks by name.
func (f *frontend) check(ctx context.Context, name string) error {
	switch name {
	case "serializable_read":
		return f.canRead(ctx, true)
	case "linearizable_read":
		return f.canRead(ctx, false)
	case "non_learner":
		if f.learner() {
			return errors.New("not supported for learner")
		}
	case "data_corruption":
		for _, a := range f.server.store.Alarms() {
			if a.Alarm == pb.AlarmType_CORRUPT {
				return errors.New("alarm activated: CORRUPT")
			}
		}
	}
	return nil
}

// checks serves a list of checks, all together and each by itself.
func (f *frontend) checks(mux *http.ServeMux, kind string, names ...string) {
	serve := func(names []string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if !onlyGet(w, r) {
				return
			}
			wanted := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(r.URL.Query()["exclude"], n) })
			report, ok := f.report(r.Context(), kind, wanted)
			if !ok {
				http.Error(w, report, http.StatusServiceUnavailable)
				return
			}
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			if !r.URL.Query().Has("verbose") {
				report = ""
			}
			_, _ = fmt.Fprint(w, report, "ok\n") // a client that is gone has nobody to tell
		}
	}
	mux.HandleFunc("/"+kind, serve(names))
	for _, name := range names {
		mux.HandleFunc("/"+kind+"/"+name, serve([]string{name}))
	}
}

func (f *frontend) report(ctx context.Context, kind string, names []string) (text string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout+time.Second)
	defer cancel()
	var b strings.Builder
	ok = true
	for _, name := range names {
		result, value := "success", 1.0
		if err := f.check(ctx, name); err != nil {
			fmt.Fprintf(&b, "[-]%s failed: %v\n", name, err)
			ok, result, value = false, "error", 0
		} else {
			fmt.Fprintf(&b, "[+]%s ok\n", name)
		}
		f.numbers.HealthGauge.WithLabelValues(kind, name).Set(value)
		f.numbers.HealthChecks.WithLabelValues(kind, name, result).Inc()
	}
	return b.String(), ok
}
