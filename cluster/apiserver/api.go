package apiserver

import (
	"kviz/cluster/apiserver/handlers"
	"kviz/cluster/apiserver/request"
)

// What the server takes and gives, for those who speak to it.
type (
	Request           = request.Request
	Response          = request.Response
	Impersonation     = request.Impersonation
	ImpersonatedExtra = request.ImpersonatedExtra
	Session           = request.Session
	LogStream         = request.LogStream
	Ports             = request.Ports
	Proxy             = request.Proxy
	Kubelets          = handlers.Kubelets
	ContainerName     = handlers.ContainerName
)
