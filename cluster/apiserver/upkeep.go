package apiserver

import "kviz/cluster/sim"

// compact throws away the store's history, all but the last five to ten
// minutes (apiserver pkg/storage/etcd3/compact.go).
func (s *Server) compact(t *sim.Task) {
	was := int64(0)
	for s.cfg.CompactionInterval > 0 {
		now := s.st.Revision()
		t.Sleep(s.cfg.CompactionInterval)
		if now > was && s.compacts() {
			if err := s.st.Compact(t, now); err == nil {
				was = now
			}
		}
	}
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
