# miss: without: the webhook answers again and adds its container; leave it stopped
# The webhook is started again, so no pod comes without its second container.
kviz fault start $injector
kviz wait --timeout 180s 'objects("pods", "demo").size() == 3'
