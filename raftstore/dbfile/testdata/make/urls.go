package main

import (
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
)

func setURLs(c *embed.Config, client, peer url.URL) {
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
}
