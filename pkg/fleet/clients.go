package fleet

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// clients are clients of client-go that send all requests through the cluster's transport.
type clients struct {
	kubernetes kubernetes.Interface
	dynamic    dynamic.Interface
	metadata   metadata.Interface
}

func newClients(config *rest.Config, through *http.Client) (*clients, error) {
	var c clients
	var err error
	if c.kubernetes, err = kubernetes.NewForConfigAndClient(protobuf(config), through); err != nil {
		return nil, err
	}
	if c.dynamic, err = dynamic.NewForConfigAndClient(dynamic.ConfigFor(config), through); err != nil {
		return nil, err
	}
	if c.metadata, err = metadata.NewForConfigAndClient(metadata.ConfigFor(config), through); err != nil {
		return nil, err
	}
	return &c, nil
}

// protobuf returns settings for clients that use protobuf, and JSON for servers without it.
func protobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config
}

// Kubernetes returns a protobuf client for the built-in API.
func (c *clients) Kubernetes() kubernetes.Interface { return c.kubernetes }

// Dynamic returns a client for objects of any kind. It keeps unknown fields.
func (c *clients) Dynamic() dynamic.Interface { return c.dynamic }

// Metadata returns a client that reads the metadata of objects of any kind.
func (c *clients) Metadata() metadata.Interface { return c.metadata }

// REST returns a client for one group and version of the built-in API, which uses protobuf, and
// JSON for servers without it. apiPath is "/api" for the core group and "/apis" for all others.
func (c *Cluster) REST(gv schema.GroupVersion, apiPath string) (*rest.RESTClient, error) {
	config := protobuf(c.config)
	config.APIPath = apiPath
	config.GroupVersion = &gv
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return rest.RESTClientForConfigAndClient(config, c.http)
}
