# Time does not bring it back.
sleep 30
