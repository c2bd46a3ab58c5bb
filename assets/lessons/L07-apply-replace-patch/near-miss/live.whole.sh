# miss: live: the size is gone; change two fields, and leave the rest
echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"color":"green","shape":"round"}}' | kubectl replace -n demo -f -
