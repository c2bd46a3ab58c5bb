package wire

import (
	"context"
	"testing"

	"google.golang.org/grpc"

	"kviz/raftstore/steady"
)

// A request of a watch stream may arrive at any time before its client reads an answer. What
// the script of watches hears does not depend on when: of either server.
func TestAnswersToWatchesDoNotDependOnWhenRequestsArrive(t *testing.T) {
	steady.RealTime(t, "etcd knows no other time")
	for name, server := range map[string]func(*testing.T, ...grpc.DialOption) *side{"etcd": realEtcd, "kviz": ours} {
		t.Run(name, func(t *testing.T) {
			early, late := server(t), server(t, grpc.WithStreamInterceptor(sendLate))
			watches(early)
			watches(late)
			for i := range max(len(early.said), len(late.said)) {
				if i >= len(early.said) || i >= len(late.said) || early.said[i] != late.said[i] {
					t.Fatalf("%d: when requests arrive\nearly: %v\nlate: %v", i, early.said[i:min(i+1, len(early.said))], late.said[i:min(i+1, len(late.said))])
				}
			}
		})
	}
}

// sendLate holds a stream's requests back until the client reads an answer, or asks no more.
func sendLate(ctx context.Context, of *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := open(ctx, of, conn, method, options...)
	return &lateStream{ClientStream: s}, err
}

type lateStream struct {
	grpc.ClientStream
	held []any
}

func (s *lateStream) SendMsg(m any) error {
	s.held = append(s.held, m)
	return nil
}

func (s *lateStream) CloseSend() error {
	if err := s.send(); err != nil {
		return err
	}
	return s.ClientStream.CloseSend()
}

func (s *lateStream) RecvMsg(m any) error {
	if err := s.send(); err != nil {
		return err
	}
	return s.ClientStream.RecvMsg(m)
}

func (s *lateStream) send() error {
	for _, m := range s.held {
		if err := s.ClientStream.SendMsg(m); err != nil {
			return err
		}
	}
	s.held = nil
	return nil
}
