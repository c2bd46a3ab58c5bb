# miss: relists: controller-manager listed because it has only started; whoever watches has to go on, and the API server has to forget
kviz fault restart controller-manager
awaits 'event.kind == "informer.relist"'
