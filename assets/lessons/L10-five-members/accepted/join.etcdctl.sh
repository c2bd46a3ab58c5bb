etcdctl member add d --learner --peer-urls=http://d:2380
