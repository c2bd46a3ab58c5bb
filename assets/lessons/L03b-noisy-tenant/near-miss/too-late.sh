# Both are there, but the FlowSchema for all service accounts comes first.
storm
level tenant "{type: Reject}"
schema tenant 9500 "$robot"
storm
