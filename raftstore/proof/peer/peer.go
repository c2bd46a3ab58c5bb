// Package peer runs real etcd, three members in this process, each with its
// default settings, as etcd's embed package starts it: the yardstick.
//
// Start reading at [Start].
package peer

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// Cluster is three members of etcd.
type Cluster struct {
	configs []*embed.Config
	members []*embed.Etcd
	killed  int // the member that is down
}

// Start starts three members with their data in dir, and waits until all
// serve.
func Start(dir string) (*Cluster, error) {
	addresses, err := freeAddresses(6)
	if err != nil {
		return nil, err
	}
	c := &Cluster{}
	var initial []string
	for i := range 3 {
		cfg := embed.NewConfig()
		cfg.Name = fmt.Sprintf("m%d", i)
		cfg.Dir = filepath.Join(dir, cfg.Name)
		cfg.ListenClientUrls, cfg.AdvertiseClientUrls = addresses[i:i+1], addresses[i:i+1]
		cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = addresses[3+i:4+i], addresses[3+i:4+i]
		cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
		initial = append(initial, cfg.Name+"="+addresses[3+i].String())
		c.configs = append(c.configs, cfg)
	}
	for _, cfg := range c.configs {
		cfg.InitialCluster = strings.Join(initial, ",")
		e, err := embed.StartEtcd(cfg)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.members = append(c.members, e)
	}
	for _, e := range c.members {
		if err := ready(e); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

func ready(e *embed.Etcd) error {
	select {
	case <-e.Server.ReadyNotify():
		return nil
	case err := <-e.Err():
		return err
	case <-time.After(time.Minute):
		return errors.New("an etcd member takes more than a minute to start")
	}
}

func freeAddresses(n int) (list []url.URL, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		list = append(list, url.URL{Scheme: "http", Host: l.Addr().String()})
	}
	return list, nil
}

// Endpoints are the members' client addresses.
func (c *Cluster) Endpoints() (list []string) {
	for _, cfg := range c.configs {
		list = append(list, cfg.ListenClientUrls[0].Host)
	}
	return list
}

// Kill stops the leader at once, without the handing over of leadership that
// an orderly end of etcd begins with.
func (c *Cluster) Kill() error {
	for i, e := range c.members {
		if e.Server.Leader() == e.Server.MemberID() {
			c.killed = i
			e.Server.HardStop()
			return nil
		}
	}
	return errors.New("no member leads")
}

// Restart starts the killed member again from its data.
func (c *Cluster) Restart() error {
	c.members[c.killed].Close()
	e, err := embed.StartEtcd(c.configs[c.killed])
	if err != nil {
		return err
	}
	c.members[c.killed] = e
	return ready(e)
}

// Close stops every member.
func (c *Cluster) Close() error {
	for _, e := range c.members {
		e.Server.HardStop()
		e.Close()
	}
	return nil
}
