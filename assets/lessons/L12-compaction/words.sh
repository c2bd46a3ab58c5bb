key=/registry/configmaps/demo/settings
number() { # FIELD
  etcdctl get $key -w fields | grep "\"$1\"" | cut -d: -f2 | tr -d ' '
}
colored() { # COLOR
  kubectl patch configmap settings -n demo -p "{\"data\":{\"color\":\"$1\"}}"
}
refused() { # an old value is read, and after a compaction not any more
  old=$(kubectl get configmap settings -n demo -o jsonpath='{.metadata.resourceVersion}')
  colored last
  etcdctl get $key --rev=$old --keys-only
  kviz fault compact store
  etcdctl get $key --rev=$old --keys-only
}
holes() { # every member has heard of the compaction
  awaits 'store.members.all(m, store.members[m].dbInUse * 2 < store.members[m].dbSize)'
}
away() { # everybody has to list anew
  colored new
  kviz fault compact store
  kviz fault restart apiserver
  sleep 10
}
behind() { # the watch of ConfigMaps has something to be told, and cannot be
  kviz fault stall watch/configmaps
  colored unheard
  awaits 'store.watches.exists(w, w.name == "configmaps" && w.lag > 0)'
}
lagged() { # a compaction under a watch that is behind
  behind
  colored louder
  kviz fault compact store
  kviz fault heal watch/configmaps
  sleep 5
}
