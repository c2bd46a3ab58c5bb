// Command cloud is a cloud-controller-manager as a cloud's provider builds it: upstream's program, and a cloud in
// which every node is an instance, and every Service has a load balancer at once.
package main

import (
	"context"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/cli"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"
)

func main() {
	cloudprovider.RegisterCloudProvider("proof", func(io.Reader) (cloudprovider.Interface, error) { return proof{}, nil })
	flags, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		klog.Fatal(err)
	}
	os.Exit(cli.Run(app.NewCloudControllerManagerCommand(flags, func(*config.CompletedConfig) cloudprovider.Interface { return proof{} },
		app.DefaultInitFuncConstructors, names.CCMControllerAliases(), cliflag.NamedFlagSets{}, wait.NeverStop)))
}

// proof is that cloud.
type proof struct{ cloudprovider.Interface }

func (proof) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}
func (c proof) LoadBalancer() (cloudprovider.LoadBalancer, bool)                { return c, true }
func (proof) Instances() (cloudprovider.Instances, bool)                        { return nil, false }
func (c proof) InstancesV2() (cloudprovider.InstancesV2, bool)                  { return c, true }
func (proof) Routes() (cloudprovider.Routes, bool)                              { return nil, false }
func (proof) ProviderName() string                                              { return "proof" }
func (proof) HasClusterID() bool                                                { return true }

func (proof) InstanceExists(context.Context, *corev1.Node) (bool, error)   { return true, nil }
func (proof) InstanceShutdown(context.Context, *corev1.Node) (bool, error) { return false, nil }
func (proof) InstanceMetadata(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	return &cloudprovider.InstanceMetadata{
		ProviderID: "proof://" + n.Name, InstanceType: "large", Zone: "here", Region: "there",
		NodeAddresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.7"}, {Type: corev1.NodeHostName, Address: n.Name}},
	}, nil
}

// status is that of every load balancer.
var status = corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "198.51.100.1"}}}

func (proof) GetLoadBalancer(context.Context, string, *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	return &status, true, nil
}

func (proof) GetLoadBalancerName(context.Context, string, *corev1.Service) string { return "proof" }

func (proof) EnsureLoadBalancer(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	return &status, nil
}

func (proof) UpdateLoadBalancer(context.Context, string, *corev1.Service, []*corev1.Node) error {
	return nil
}

func (proof) EnsureLoadBalancerDeleted(context.Context, string, *corev1.Service) error { return nil }
