# miss: relists: controller-manager listed because it started again; a client must watch on while the API server loses its memory
kviz fault restart controller-manager
awaits 'event.kind == "informer.relist"'
