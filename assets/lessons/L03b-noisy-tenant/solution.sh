storm
level tenant "{type: Reject}"
schema tenant 500 "$robot"
storm
