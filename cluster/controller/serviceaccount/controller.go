// Package serviceaccount is the ServiceAccount controller: it makes sure that each
// namespace has the ServiceAccount default, without which no pod could be created
// there (the admission plugin ServiceAccount refuses a pod whose account does not
// exist).
//
// Mirrors pkg/controller/serviceaccount. Start reading at [Controller.sync].
package serviceaccount

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Name is the controller's name; Default the account it keeps.
const (
	Name    = "serviceaccount-controller"
	Default = "default"
)

// Controller is the ServiceAccount controller.
type Controller struct {
	*reconcile.Env
	namespaces *informer.Informer
	accounts   *informer.Informer
	loop       *reconcile.Loop
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	c := &Controller{Env: env, namespaces: env.Informers.For(client.Namespaces), accounts: env.Informers.For(client.ServiceAccounts)}
	c.loop = reconcile.NewLoop(env, "serviceaccount", client.Namespaces, c.sync)
	c.namespaces.AddHandler(informer.Handler{
		Resync: informer.NoResync,
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.loop.Add(t, informer.KeyOf(obj)) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { c.loop.Add(t, informer.KeyOf(obj)) },
	})
	c.accounts.AddHandler(informer.Handler{
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) {
			if sa := obj.(*corev1.ServiceAccount); sa.Name == Default {
				c.loop.Add(t, sa.Namespace)
			}
		},
	})
	return c
}

// Start starts the workers.
func (c *Controller) Start() { c.loop.Start(c.accounts, c.namespaces) }

// sync makes the account where it is missing (syncNamespace).
func (c *Controller) sync(run *reconcile.Run) error {
	obj, ok := c.namespaces.Get(run.Name)
	if !ok || obj.(*corev1.Namespace).Status.Phase != corev1.NamespaceActive {
		return nil // a terminating namespace takes nothing new
	}
	if _, ok := c.accounts.Get(informer.Key(run.Name, Default)); ok {
		return nil
	}
	run.Act("create", client.ServiceAccounts.Ref(run.Name, Default), Default, nil,
		"namespace %s has no ServiceAccount default: create it", run.Name)
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: run.Name, Name: Default}}
	_, err := c.Client.Create(run.T, client.ServiceAccounts, run.Name, sa)
	if apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}
